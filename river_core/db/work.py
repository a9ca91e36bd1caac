"""Statements of the running worker on `river_job`: claim, finish, look for cancellations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from river_core.db import jobs
from river_core.db.statement import Dialect, Parameter, Sql, Statement
from river_core.job import JobRow, JobState
from river_core.outcome import StateChange

Row = Sequence[Any]

_COMPACT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_CLAIM_ORDER = attrgetter("priority", "scheduled_at", "id")

ANY_ATTEMPTS = -(2**62)
"""No job has so few attempts left that a claim with this `spare` passes it by."""


class AttemptChange(NamedTuple):
    """The end of one attempt: which row, which attempt of it, and what is written."""

    job_id: int
    attempt: int
    change: StateChange


def ping(sql: Sql) -> Statement:
    """Prove that a connection answers."""
    return sql.statement("ping")


def job_get_available(
    sql: Sql,
    queue: str,
    client_id: str,
    limit: int,
    kinds: Sequence[str] | None = None,
    spare: int = ANY_ATTEMPTS,
    now: datetime | None = None,
) -> Statement:
    """Claim up to `limit` due jobs of `queue` (River: JobGetAvailable).

    Of `kinds` only where given, and only those with more than `spare` attempts left.
    """
    parameters: dict[str, Parameter] = {
        "queue": queue,
        "client_id": client_id,
        "limit": limit,
        "spare": spare,
        "now": sql.time(now),
    }
    if kinds is None:
        return sql.statement("job_get_available", **parameters)
    return sql.statement("job_get_available_of_kinds", kinds=",".join(kinds), **parameters)


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a claim gave: rows, and in how many seconds the next job falls due, where that was told."""

    rows: list[JobRow]
    next_due: float | None


def decode_claim(sql: Sql, rows: Sequence[Row]) -> Claimed:
    """Return the jobs in order of priority, time and id; on SQLite `next_due` is never told here."""
    found = [jobs.decode_claimed_job(sql, row) for row in rows if row[0] is not None]
    found.sort(key=_CLAIM_ORDER)
    told = rows[-1] if rows and rows[-1][0] is None else None
    return Claimed(found, told[jobs.COLUMN_COUNT] if told is not None else None)


def job_next_due(sql: Sql, queue: str) -> Statement:
    """Ask how many seconds remain until the next available job of `queue` falls due."""
    return sql.statement("job_next_due", queue=queue)


def job_lock_running_many(sql: Sql, client_id: str, changes: Iterable[AttemptChange]) -> Statement:
    """Lock the rows that are still these attempts; returns ids and whether they are marked as cancelled."""
    keys = [{"id": item.job_id, "attempt": item.attempt} for item in changes]
    return sql.statement("job_lock_running_many", client_id=client_id, outcomes=json.dumps(keys))


def is_success(change: StateChange) -> bool:
    """Tell whether a change is one that `job_set_completed_if_running_many` can write."""
    return change.state is JobState.COMPLETED and change.error is None and change.is_plain


def job_set_completed_if_running_many(
    sql: Sql, client_id: str, changes: Sequence[AttemptChange], payload: str | None = None
) -> Statement:
    """Complete many running attempts, whose changes are successes; returns the ids of those that still ran.

    On Postgres also notify `river_python_done` with `payload`, if any. Raises TypeError or ValueError when a
    metadata value cannot be written as JSON.
    """
    if sql.dialect is Dialect.SQLITE:
        documents = [_document(sql, item) for item in changes]
        return sql.statement(
            "job_set_completed_if_running_many", client_id=client_id, outcomes=_encoded(documents)
        )
    return sql.statement(
        "job_set_completed_if_running_many",
        client_id=client_id,
        ids=_numbers([item.job_id for item in changes]),
        attempts=_numbers([item.attempt for item in changes]),
        finalized_at=sql.array([sql.time(item.change.finalized_at) for item in changes]),
        metadata=_metadata(sql, changes),
        payload=payload,
        schema=sql.schema or None,
    )


def _numbers(values: list[int]) -> str:
    return "{" + repr(values)[1:-1] + "}"


def _metadata(sql: Sql, changes: Sequence[AttemptChange]) -> str | None:
    """Return an array, or None where no change has any: Postgres fills up a missing one with NULLs."""
    if not any(item.change.metadata for item in changes):
        return None
    return sql.array([_encoded(item.change.metadata) if item.change.metadata else None for item in changes])


def _encoded(value: Any) -> str:
    return _COMPACT.encode(value)


def job_set_state_if_running_many(
    sql: Sql, client_id: str, changes: Iterable[AttemptChange], payload: str | None = None
) -> Statement:
    """Write the ends of many attempts; on Postgres also notify `river_python_done` with `payload`, if any.

    Raises TypeError or ValueError when a metadata value cannot be written as JSON.
    """
    documents = [_document(sql, item) for item in changes]
    return sql.statement(
        "job_set_state_if_running_many",
        client_id=client_id,
        outcomes=_encoded(documents),
        payload=payload,
        schema=sql.schema or None,
    )


def _document(sql: Sql, item: AttemptChange) -> dict[str, Any]:
    change = item.change
    document: dict[str, Any] = {"id": item.job_id, "attempt": item.attempt, "state": change.state.value}
    if change.finalized_at is not None:
        document["finalized_at"] = sql.time(change.finalized_at)
    if change.scheduled_at is not None:
        document["scheduled_at"] = sql.time(change.scheduled_at)
    if change.attempt is not None:
        document["new_attempt"] = change.attempt
    if change.error is not None:
        document["error"] = change.error.to_json()
    if change.metadata:
        document["metadata"] = change.metadata
    return document


def job_list_running(sql: Sql, client_id: str) -> Statement:
    """Ask for id, attempt and queue of all rows that run under `client_id`."""
    return sql.statement("job_list_running", client_id=client_id)


def job_get_cancelled_many(sql: Sql, ids: Iterable[int]) -> Statement:
    """Ask which running jobs carry a cancellation mark."""
    return sql.statement("job_get_cancelled_many", ids=json.dumps(list(ids)))
