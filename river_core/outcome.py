"""The ways an attempt can end, as values.

A task returns one of these or raises; the executor turns either into a `StateChange` by
`river_core.decide`, and the completer writes that. Adapters translate their own exceptions into
these values and do nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from river_core.insert import InsertParams
from river_core.job import AttemptError, JobState
from river_core.links import HandOver

Metadata = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A row that is inserted in the transaction that writes the outcome, or not at all.

    `metadata_key` names the metadata key of the finished row that receives the new row's id.
    """

    params: InsertParams
    metadata_key: str | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """The attempt did its work; the row becomes `completed`, or is deleted with `delete_row`.

    `if_cancelled` is written instead where the row was cancelled before the end could be written: for a
    job that only goes on in another row.
    """

    metadata: Metadata = field(default_factory=dict)
    follow_ups: tuple[FollowUp, ...] = ()
    hand_overs: tuple[HandOver, ...] = ()
    delete_row: bool = False
    if_cancelled: Cancelled | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt raised.

    `retry` None lets attempts and policy decide; False discards the row now. `error_text` replaces
    the text that is stored, `trace` the traceback. Follow-ups and hand-overs count only where the row is
    discarded.
    """

    error: BaseException
    metadata: Metadata = field(default_factory=dict)
    retry: bool | None = None
    error_text: str | None = None
    trace: str | None = None
    follow_ups: tuple[FollowUp, ...] = ()
    hand_overs: tuple[HandOver, ...] = ()


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The job is to end as `cancelled`, with a reason that is recorded as the attempt's error.

    `trace` is the traceback that is stored with it.
    """

    reason: str = "JobCancelError"
    metadata: Metadata = field(default_factory=dict)
    trace: str = ""
    follow_ups: tuple[FollowUp, ...] = ()
    hand_overs: tuple[HandOver, ...] = ()


@dataclass(frozen=True, slots=True)
class Snoozed:
    """The job is to run again after `seconds`; the attempt is given back."""

    seconds: float
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The worker stopped under the attempt; the job is available again and the attempt is given back.

    `still_waits` is for one that was set going by hand although it waits for other jobs: it goes on waiting.
    Without `began` none of the task's code has run.
    """

    metadata: Metadata = field(default_factory=dict)
    still_waits: bool = False
    began: bool = True


Outcome = Completed | Failed | Cancelled | Snoozed | Interrupted


@dataclass(frozen=True, slots=True)
class StateChange:
    """What is written for one finished attempt. Made only by the constructors below, so that a wrong
    combination of columns cannot be written (River: JobSetStateIfRunningParams).

    `scheduled_at`, `finalized_at` and `attempt` of None leave the column as it is.
    """

    state: JobState
    finalized_at: datetime | None = None
    scheduled_at: datetime | None = None
    attempt: int | None = None
    error: AttemptError | None = None
    metadata: Metadata = field(default_factory=dict)
    follow_ups: tuple[FollowUp, ...] = ()
    hand_overs: tuple[HandOver, ...] = ()
    if_cancelled: StateChange | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is written in one row alone."""
        return not (
            self.follow_ups
            or self.hand_overs
            or self.state is JobState.PENDING
            or self.if_cancelled is not None
        )


def set_completed(now: datetime, metadata: Metadata, outcome: Completed) -> StateChange:
    """Make the row `completed` (River: JobSetStateCompleted)."""
    return StateChange(
        JobState.COMPLETED,
        finalized_at=now,
        metadata=metadata,
        follow_ups=outcome.follow_ups,
        hand_overs=outcome.hand_overs,
    )


def set_cancelled(now: datetime, error: AttemptError, metadata: Metadata, outcome: Cancelled) -> StateChange:
    """Make the row `cancelled` (River: JobSetStateCancelled)."""
    return StateChange(
        JobState.CANCELLED,
        finalized_at=now,
        error=error,
        metadata=metadata,
        follow_ups=outcome.follow_ups,
        hand_overs=outcome.hand_overs,
    )


def set_discarded(now: datetime, error: AttemptError, metadata: Metadata, outcome: Failed) -> StateChange:
    """Make the row `discarded` (River: JobSetStateDiscarded)."""
    return StateChange(
        JobState.DISCARDED,
        finalized_at=now,
        error=error,
        metadata=metadata,
        follow_ups=outcome.follow_ups,
        hand_overs=outcome.hand_overs,
    )


def set_error(when: datetime, soon: bool, error: AttemptError, metadata: Metadata) -> StateChange:
    """Run the row again at `when` (River: JobSetStateErrorAvailable, JobSetStateErrorRetryable).

    `soon` says that the time is within one scheduler interval, 5 seconds.
    """
    state = JobState.AVAILABLE if soon else JobState.RETRYABLE
    return StateChange(state, scheduled_at=when, error=error, metadata=metadata)


def set_snoozed(when: datetime, soon: bool, attempt: int, metadata: Metadata) -> StateChange:
    """Run the row again at `when` without an attempt spent (River: JobSetStateSnoozed, …SnoozedAvailable)."""
    state = JobState.AVAILABLE if soon else JobState.SCHEDULED
    return StateChange(state, scheduled_at=when, attempt=attempt, metadata=metadata)


def set_interrupted(now: datetime, attempt: int, metadata: Metadata) -> StateChange:
    """Give the row back (River: JobSetStateInterrupted)."""
    return StateChange(JobState.AVAILABLE, scheduled_at=now, attempt=attempt, metadata=metadata)


def set_waiting(attempt: int, metadata: Metadata) -> StateChange:
    """Let the row wait for its members again."""
    return StateChange(JobState.PENDING, attempt=attempt, metadata=metadata)
