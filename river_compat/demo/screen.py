"""What the demo shows: live and coloured on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from rich.console import Console, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table

from river_compat.demo.calls import Call
from river_compat.demo.rows import DemoRow

BAR_WIDTH = 40
RESULT_SECONDS = 5.0
SECONDS_BETWEEN_LINES = 1.0
Show = Callable[[Sequence[DemoRow]], None]


class Screen:
    """Prints the steps of the demo to one console."""

    def __init__(self, console: Console) -> None:
        """Take the console; whether it is a terminal decides how progress looks."""
        self.console = console
        self._steps = 0

    def step(self, title: str, text: str) -> None:
        """Print a numbered step."""
        self._steps += 1
        self.console.print(f"[bold]{self._steps}. {escape(title)}[/bold] {escape(text)}", highlight=False)

    @contextmanager
    def progress(self, total: int) -> Iterator[Show]:
        """Give a function that shows how far the rows are."""
        start = time.monotonic()
        if not self.console.is_terminal:
            yield self._line_by_line(total, start)
            return
        with Live(console=self.console, refresh_per_second=10) as live:
            yield lambda rows: live.update(_bar(rows, total, time.monotonic() - start))

    def _line_by_line(self, total: int, start: float) -> Show:
        next_line = start

        def show(rows: Sequence[DemoRow]) -> None:
            nonlocal next_line
            now = time.monotonic()
            if now >= next_line or _ended(rows) == total:
                next_line = now + SECONDS_BETWEEN_LINES
                self.console.print(
                    f"   {now - start:4.1f} s  {_ended(rows):2} of {total} ended  {_states(rows)}",
                    highlight=False,
                )

        return show

    def results(self, calls: Sequence[Call]) -> None:
        """Print what the calls gave, read through their ordinary result handles; like ones are summed up."""
        table = Table("call", "state", "result", "")
        for (task, note), alike in groupby(calls, lambda call: (call.task, call.note)):
            first, *others = alike
            table.add_row(escape(first.text), first.result.state, escape(_value(first)), note)
            if others:
                states = ", ".join(sorted({call.result.state for call in others}))
                table.add_row(f"{task}: {len(others)} more", states, "", "")
        self.console.print(table)

    def rows(self, rows: Sequence[DemoRow]) -> None:
        """Print the rows as SQL gave them, equal ones counted together."""
        table = Table("task", "state", "attempt", "outcome", "rows")
        counted = Counter((row.task, row.state, row.attempt, row.outcome) for row in rows)
        for (task, state, attempt, outcome), count in counted.items():
            table.add_row(task, state, str(attempt), outcome, str(count))
        self.console.print(table)

    def next_steps(self, lines: Sequence[tuple[str, str]]) -> None:
        """Print where to look next."""
        self.console.print("\n[bold]All rows are as they should be.[/bold] Where to look next:\n")
        for what, where in lines:
            self.console.print(f"  {escape(what):<28} {escape(where)}", highlight=False, soft_wrap=True)


def _value(call: Call) -> str:
    value = call.result.get(timeout=RESULT_SECONDS, propagate=False)
    return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else repr(value)


def _ended(rows: Sequence[DemoRow]) -> int:
    return sum(row.is_end_of_call for row in rows)


def _states(rows: Sequence[DemoRow]) -> str:
    return ", ".join(
        f"{count} {state}" for state, count in sorted(Counter(row.state for row in rows).items())
    )


def _bar(rows: Sequence[DemoRow], total: int, seconds: float) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    done = _ended(rows)
    bar = ProgressBar(total=total, completed=done, width=BAR_WIDTH)
    grid.add_row(f"   {seconds:4.1f} s", bar, f"{done} of {total} ended", _states(rows))
    return grid
