"""Statements by which a running attempt writes its own row, and by which a finished one deletes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from river_core.db.statement import Sql, Statement
from river_core.db.work import AttemptChange


@dataclass(frozen=True, slots=True)
class AttemptKey:
    """One attempt: which row, which attempt of it, and the client that claimed it."""

    job_id: int
    attempt: int
    client_id: str


def job_lock_attempt(sql: Sql, job_id: int) -> Statement:
    """Lock a row; returns its state, attempt, last client and metadata, none for a row that is gone."""
    return sql.statement("job_lock_attempt", id=job_id)


def job_complete_attempt(sql: Sql, key: AttemptKey, finalized_at: datetime, metadata: str) -> Statement:
    """Complete a row that is still this running attempt, with all of its metadata (River: JobCompleteTx)."""
    return sql.statement(
        "job_complete_attempt",
        id=key.job_id,
        attempt=key.attempt,
        client_id=key.client_id,
        finalized_at=sql.time(finalized_at),
        metadata=metadata,
    )


def job_set_attempt_metadata(sql: Sql, key: AttemptKey, metadata: str) -> Statement:
    """Write the whole metadata of a row that is still this running attempt; returns its id."""
    return sql.statement(
        "job_set_attempt_metadata",
        id=key.job_id,
        attempt=key.attempt,
        client_id=key.client_id,
        metadata=metadata,
    )


def job_delete_running_many(sql: Sql, client_id: str, changes: Iterable[AttemptChange]) -> Statement:
    """Delete the rows that are still these running attempts; returns their ids."""
    keys = [{"id": item.job_id, "attempt": item.attempt} for item in changes]
    return sql.statement("job_delete_running_many", client_id=client_id, outcomes=json.dumps(keys))
