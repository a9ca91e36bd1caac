"""What claimed rows go through before they get a place: companions may say that some are not to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from river_core.job import JobRow
from river_core.outcome import Outcome
from river_core.task import Job
from river_core.worker.companion import Admitted, Companion
from river_core.worker.completion import Completion
from river_core.worker.executor import Executor


@dataclass(frozen=True, slots=True)
class Gate:
    """Asks which claimed rows are to run, and ends the attempts of the others."""

    ask: Callable[[Sequence[JobRow]], Admitted]
    end: Callable[[JobRow, Outcome], None]
    give_back: Callable[[JobRow], None]

    def admit(self, rows: Sequence[JobRow]) -> Sequence[JobRow]:
        """Return the rows that are to run; gives all back when the question raises."""
        try:
            admitted, refused = self.ask(rows)
        except BaseException:
            for row in rows:
                self.give_back(row)
            raise
        for row, outcome in refused:
            self.end(row, outcome)
        return admitted


def gate_of(
    companions: Sequence[Companion], executor: Executor, put: Callable[[Completion], None]
) -> Gate | None:
    """Return what asks the companions that want to be asked, one after the other; None for nobody.

    `put` is given the ends of the attempts that are not to run.
    """
    asked = [item.admit for item in companions if type(item).admit is not Companion.admit]
    if not asked:
        return None

    def ask(rows: Sequence[JobRow]) -> Admitted:
        refused: list[tuple[JobRow, Outcome]] = []
        for admit in asked:
            rows, more = admit(rows)
            refused.extend(more)
        return rows, refused

    return Gate(
        ask,
        lambda row, outcome: put(executor.not_run(row, outcome)),
        lambda row: put(executor.interrupted(Job(row), started=False)),
    )
