"""What an executor hands to the completer: one finished attempt and what is to be written for it."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import datetime

from river_core.job import JobRow, JobState
from river_core.outcome import StateChange
from river_core.task import Job
from river_core.worker.events import EventKind

logger = logging.getLogger(__name__)


class WriteReceipt:
    """Tells one waiting thread that an outcome is in the database, or given up."""

    __slots__ = ("_settled", "state")

    def __init__(self) -> None:
        """Nothing is written yet."""
        self._settled = threading.Event()
        self.state: JobState | None = None
        """What the row was left in; None where the outcome changed nothing or was given up."""

    def settle(self, state: JobState | None) -> None:
        """Let the waiting thread go on; the first call counts."""
        if not self._settled.is_set():
            self.state = state
            self._settled.set()

    def wait(self) -> JobState | None:
        """Wait for the write and return the state that it left."""
        self._settled.wait()
        return self.state


@dataclass(frozen=True, slots=True)
class Completion:
    """One finished attempt on its way to the database."""

    row: JobRow
    change: StateChange
    decided: EventKind
    ran: tuple[datetime, datetime] | None = None
    """When the attempt began and ended."""
    receipt: WriteReceipt | None = None
    """Settled once the outcome is written or given up, where somebody waits for that."""


def call_after_write(job: Job, state: JobState | None) -> None:
    """Call what the attempt asked to be called once its outcome is written; log what that raises."""
    for callback in job.powers.after_write if job.powers is not None else ():
        try:
            callback(state)
        except Exception:
            logger.exception("a callback after the end of job %d raised", job.row.id)


class Deletion(Completion):
    """A success whose row is deleted instead of completed."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CompletedInTx(Completion):
    """The end of an attempt whose row the task has completed itself; `snapshot` is what it wrote."""

    snapshot: JobRow | None = None
