"""What a keeper knows of the jobs that its child has: in order of sending, and what is to become of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from river_core.job import JobState
from river_core.loss import Loss
from river_core.worker.completion import WriteReceipt
from river_core.worker.processes.board import Place
from river_core.worker.running_job import RunningJob


@dataclass(slots=True)
class Handed:
    """A job that a child was given, and what its end means if the child does not tell."""

    running: RunningJob
    loss: Loss | None = None
    interrupted: bool = False
    is_written: bool = False


class HandedJobs(dict[int, Handed]):
    """Jobs by their number; numbers grow."""

    def number_of(self, row_id: int, attempt: int | None = None) -> int | None:
        """Return the number of a job, of that attempt where one is given."""
        for number, handed in self.items():
            row = handed.running.job.row
            if row.id == row_id and attempt in (None, row.attempt):
                return number
        return None

    def take_back(self, place: Place) -> list[RunningJob]:
        """Remove and return what the child has not started, and will not start any more."""
        if not self:
            return []
        place.take_back()
        started = place.started
        return [self.pop(number).running for number in [*self] if number > started]


class Receipt(WriteReceipt):
    """Tells somebody far away that an outcome is written."""

    __slots__ = ("_tell",)

    def __init__(self, tell: Callable[[JobState | None], object]) -> None:
        """Call `tell` once."""
        super().__init__()
        self._tell = tell

    def settle(self, state: JobState | None) -> None:
        """Pass it on; the first call counts."""
        first = not self._settled.is_set()
        super().settle(state)
        if first:
            self._tell(state)
