"""How an attempt in a test has ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from river_core.job import JobRow, JobState
from river_core.testing import describe
from river_core.worker.completion import Completion, Deletion
from river_core.worker.events import EventKind, JobStatistics


class WorkOutcome(StrEnum):
    """What became of the job (River for Ruby: ExecutionResult.outcome)."""

    COMPLETED = "completed"
    RETRIED = "retried"
    DISCARDED = "discarded"
    CANCELLED = "cancelled"
    SNOOZED = "snoozed"
    INTERRUPTED = "interrupted"
    DELETED = "deleted"


_OF_STATE = {
    JobState.COMPLETED: WorkOutcome.COMPLETED,
    JobState.CANCELLED: WorkOutcome.CANCELLED,
    JobState.DISCARDED: WorkOutcome.DISCARDED,
}
_OF_DECISION = {
    EventKind.JOB_FAILED: WorkOutcome.RETRIED,
    EventKind.JOB_SNOOZED: WorkOutcome.SNOOZED,
    EventKind.JOB_INTERRUPTED: WorkOutcome.INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class WorkResult:
    """One worked attempt (River: rivertest.WorkResult).

    `event_kind` is the kind of the event that a worker would have sent, None where it would send none: the
    row was deleted, or somebody else had moved it on. `job` is the row after the attempt, or as it was
    before where it was deleted. `error` is what the error handler saw: not a snooze, cancel or interruption.
    """

    outcome: WorkOutcome | None
    event_kind: EventKind | None
    job: JobRow
    error: BaseException | None = None
    statistics: JobStatistics | None = None

    def require(self, outcome: WorkOutcome | str) -> WorkResult:
        """Return the result if it has this outcome; else fail the test with the row and the error."""
        __tracebackhide__ = True
        if WorkOutcome(outcome) is self.outcome:
            return self
        errors = [f"attempt {item.attempt}: {item.error}" for item in self.job.errors]
        raise describe.failure(
            f"the job was {self.outcome or 'left alone'}, not {WorkOutcome(outcome)}",
            describe.row(self.job),
            *errors,
        ) from self.error


def outcome_of(completion: Completion, row: JobRow | None) -> WorkOutcome | None:
    """Return what became of a job from what was decided and the row that it left."""
    if row is None:
        return WorkOutcome.DELETED if type(completion) is Deletion else None
    if row.state in _OF_STATE:
        return _OF_STATE[row.state]
    if row.state in (JobState.AVAILABLE, JobState.RETRYABLE, JobState.SCHEDULED):
        return _OF_DECISION.get(completion.decided)
    return None
