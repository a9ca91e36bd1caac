"""The lines that are to be held, each beside what was found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.compare import calls, drains, groups, idle
from benchmarks.compare.figures import Figures, percentile
from benchmarks.compare.sides import Ours, Relaxed, Theirs
from benchmarks.compare.tasks import IGNORED, KEPT

OURS, RELAXED, CELERY = Ours.name, Relaxed.name, Theirs.name
OPT_INS = "not durable: both opt-ins"


@dataclass(frozen=True, slots=True)
class Line:
    """One line: both figures as text, what is compared, and whether that is within its bounds."""

    name: str
    ours: str
    other: str
    found: float
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> str:
        """`met` or `missed`; empty for a figure that has no target."""
        if self.least is None and self.most is None:
            return ""
        low = self.least is None or self.found >= self.least
        return "met" if low and (self.most is None or self.found <= self.most) else "missed"

    @property
    def target(self) -> str:
        """The bounds as text."""
        least = [] if self.least is None else [f">= {self.least:g}"]
        return " and ".join(least + ([] if self.most is None else [f"<= {self.most:g}"])) or "-"

    @property
    def cells(self) -> tuple[str, ...]:
        """What the table shows."""
        return self.name, self.ours, self.other, f"{self.found:.2f}", self.target, self.met


HEAD = ("line", "ours", "beside", "found", "target", "")


def table(figures: Figures) -> str:
    """Return all lines that were measured as a table in Markdown."""
    rows = [HEAD, ("---",) * len(HEAD), *(line.cells for line in _lines(figures))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |"
        for row in rows
    )


def _lines(figures: Figures) -> Iterator[Line]:
    if figures.all(calls.LINE, calls.BARE):
        yield from _of_calls(figures)
    for results in (KEPT, IGNORED):
        yield from _rates(figures, groups.line(results), f"group enqueue, results {results}", 15)
    for pool in drains.POOLS:
        for results in (KEPT, IGNORED):
            name, least = f"drain, {pool}, results {results}", None if pool == "solo" else 10
            yield from _rates(figures, drains.line(pool, results), name, least)
    for pool in drains.POOLS:
        yield from _of_round_trips(figures, pool)
    yield from _of_waiting(figures)


def _of_calls(figures: Figures) -> Iterator[Line]:
    for results in (KEPT, IGNORED):
        ours, theirs = calls.name(OURS, results), calls.name(CELERY, results)
        own = figures.median(calls.LINE, ours)
        for beside, most in ((calls.BARE, 1.4), (theirs, 1.0)):
            ratio = figures.ratio(calls.LINE, ours, beside)
            other = f"{beside.partition(',')[0]} {_ms(figures.median(calls.LINE, beside))}"
            yield Line(f"delay(), results {results}: time beside", _ms(own), other, ratio, most=most)
        relaxed = calls.name(RELAXED, results)
        let_go, other = _ms(figures.median(calls.LINE, relaxed)), _ms(figures.median(calls.LINE, theirs))
        ratio = figures.ratio(calls.LINE, relaxed, theirs)
        yield Line(f"delay(), results {results}, {OPT_INS}", let_go, f"{CELERY} {other}", ratio)


def _rates(figures: Figures, line: str, name: str, least: float | None) -> Iterator[Line]:
    if figures.all(line, OURS):
        ours, theirs = (figures.median(line, side) for side in (OURS, CELERY))
        ratio = figures.ratio(line, OURS, CELERY)
        yield Line(name, f"{ours:,.0f}/s", f"{CELERY} {theirs:,.0f}/s", ratio, least=least)


def _of_round_trips(figures: Figures, pool: str) -> Iterator[Line]:
    line = f"{idle.CALL}, {pool}"
    if figures.all(line, OURS):
        ours, relaxed, theirs = (figures.median(line, side) for side in (OURS, RELAXED, CELERY))
        name, other = f"call and get p50, {pool}", f"{CELERY} {_ms(theirs)}"
        yield Line(name, _ms(ours), other, ours / theirs, most=1.0)
        yield Line(f"{name}, {OPT_INS}", _ms(relaxed), other, relaxed / theirs)


def _of_waiting(figures: Figures) -> Iterator[Line]:
    if figures.all(idle.CHORD, OURS):
        ours, theirs = (figures.median(idle.CHORD, side) for side in (OURS, CELERY))
        ratio = figures.ratio(idle.CHORD, CELERY, OURS)
        yield Line("chord of 1,000 parts", _ms(ours), f"{CELERY} {_ms(theirs)}", ratio, least=3)
    if figures.all(idle.COUNTDOWN, OURS):
        ours, theirs = (percentile(figures.all(idle.COUNTDOWN, side), 95) for side in (OURS, CELERY))
        yield Line("countdown=2 p95, seconds", f"{ours:.3f} s", f"{CELERY} {theirs:.3f} s", ours, 2.0, 2.3)
        first = min(figures.all(idle.COUNTDOWN, OURS))
        yield Line("countdown=2 earliest, seconds", f"{first:.3f} s", "", first, least=2.0)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"
