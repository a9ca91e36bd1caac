"""What an attempt leaves that used resumable steps or completed its row itself; called by the executor."""

from __future__ import annotations

import logging
from datetime import datetime
from enum import Enum
from typing import Final, Literal

from river_core.errors import DatabaseError
from river_core.job import JobRow, JobState
from river_core.job_handle import Job, TxCompletion
from river_core.outcome import Completed, Failed, Outcome, StateChange
from river_core.resumable import STEP_KEY, missing_step
from river_core.worker.completion import CompletedInTx
from river_core.worker.events import EventKind


class _RolledBack(Enum):
    ROLLED_BACK = "rolled back"


ROLLED_BACK: Final = _RolledBack.ROLLED_BACK
"""The task's own completion does not count: the attempt ends as any other does."""

logger = logging.getLogger(__name__)


def steps_settled(job: Job, outcome: Outcome) -> Outcome:
    """Keep how far the steps came, for a retry; fail a success that never reached the step it resumed at."""
    steps = job.powers.steps if job.powers is not None else None
    if isinstance(outcome, Completed):
        missing = steps.missing() if steps is not None else _never_resumed(job.row)
        if missing is None:
            return outcome
        outcome = Failed(missing)
    if steps is not None:
        job.keep_metadata(steps.unfinished())
    return outcome


def _never_resumed(row: JobRow) -> Exception | None:
    if STEP_KEY not in row.encoded_metadata:
        return None
    stored = row.metadata.get(STEP_KEY)
    return missing_step(stored) if isinstance(stored, str) and stored else None


def completed_in_tx(
    job: Job, outcome: Outcome, completion: TxCompletion, ran: tuple[datetime, datetime]
) -> CompletedInTx | Literal[_RolledBack.ROLLED_BACK] | None:
    """Return what is left to write after `job_complete_tx`, by looking at what became of the row.

    After a commit only later metadata is; nothing when somebody has moved the row on since. Whatever
    this finds, the guard of the write decides: a look that fails costs an event, never a row.
    """
    try:
        row = completion.look()
    except DatabaseError:
        logger.exception("the row of a completed job cannot be read", extra={"job_id": job.row.id})
        return ROLLED_BACK
    if row is not None and not _is_attempt(row, job.row):
        return None
    if row is not None and row.state is JobState.RUNNING:
        return ROLLED_BACK
    if row is not None and row.state is not JobState.COMPLETED:
        return None
    if isinstance(outcome, Failed):
        logger.warning(
            "job %d failed after it was completed in a transaction",
            job.row.id,
            extra={"job_id": job.row.id, "kind": job.row.kind},
            exc_info=outcome.error,
        )
    written = completion.metadata
    updates = {**job.metadata_updates, **outcome.metadata}
    late = {key: value for key, value in updates.items() if key not in written or written[key] != value}
    change = StateChange(JobState.COMPLETED, finalized_at=completion.row.finalized_at, metadata=late)
    return CompletedInTx(job.row, change, EventKind.JOB_COMPLETED, ran, snapshot=completion.row)


def _is_attempt(row: JobRow, claimed: JobRow) -> bool:
    return row.attempt == claimed.attempt and row.attempted_by == claimed.attempted_by
