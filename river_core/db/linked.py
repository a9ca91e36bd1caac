"""Statements on rows that wait for others and on those that feed them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from river_core.db.job_inserts import fresh_nonce, with_nonce
from river_core.db.statement import Dialect, Sql, Statement
from river_core.insert import InsertParams
from river_core.job import JobState


@dataclass(frozen=True, slots=True)
class WaitingChange:
    """What becomes of one waiting row. `delay` is in seconds, `error` is an entry of `errors`."""

    job_id: int
    state: JobState
    metadata: dict[str, Any]
    delay: float = 0.0
    error: dict[str, Any] | None = field(default=None)


def job_take_write_lock(sql: Sql) -> Statement:
    """Begin the write transaction of SQLite before anything is read that must stay true in it."""
    return sql.statement("job_take_write_lock")


def job_reserve_ids(sql: Sql, count: int) -> Statement:
    """Take `count` ids for rows that are to name each other."""
    return sql.statement("job_reserve_ids", count=count)


def job_insert_linked(sql: Sql, rows: Sequence[tuple[int, InsertParams]]) -> Statement:
    """Insert rows under ids that were reserved for them; returns the rows in any order."""
    documents = [_document(sql, job_id, row) for job_id, row in rows]
    return sql.statement("job_insert_linked", jobs=json.dumps(documents, separators=(",", ":")))


def _document(sql: Sql, job_id: int, row: InsertParams) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": job_id,
        "args": row.encoded_args,
        "created_at": sql.time(row.created_at),
        "kind": row.kind,
        "max_attempts": row.max_attempts,
        "metadata": row.encoded_metadata,
        "priority": row.priority,
        "queue": row.queue,
        "scheduled_at": sql.time(row.scheduled_at),
        "state": row.state.value,
    }
    nonce = fresh_nonce() if sql.tells_by_nonce else None
    if sql.dialect is Dialect.POSTGRES:
        return {**document, "metadata": with_nonce(row.encoded_metadata, nonce), "tags": list(row.tags)}
    return {**document, "tags": json.dumps(row.tags), "nonce": nonce}


def job_lock_feedable_many(sql: Sql, ids: Iterable[int]) -> Statement:
    """Lock and read those of the rows that have not ended, in order of id."""
    return sql.statement("job_lock_feedable_many", ids=json.dumps(list(ids)))


def job_feed_many(sql: Sql, changes: Iterable[WaitingChange], now: datetime | None = None) -> Statement:
    """Write what became of locked rows that have not ended; returns id, state and queue of each.

    A row that does not wait just now takes the metadata, or its end. Raises TypeError or ValueError when a
    metadata value cannot be written as JSON.
    """
    documents = [_change(sql, change) for change in changes]
    encoded = json.dumps(documents, allow_nan=False, separators=(",", ":"))
    return sql.statement("job_feed_many", changes=encoded, now=sql.time(now))


def _change(sql: Sql, change: WaitingChange) -> dict[str, Any]:
    """On SQLite nested JSON goes as text: reading it out of a document would change its numbers."""
    encode = (lambda value: value) if sql.dialect is Dialect.POSTGRES else _text
    return {
        "id": change.job_id,
        "state": change.state.value,
        "delay": change.delay,
        "error": None if change.error is None else encode(change.error),
        "metadata": encode(change.metadata),
    }


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def job_list_waiting(sql: Sql, kind: str, after: int, age: float, limit: int) -> Statement:
    """Read waiting rows of a kind by id, those that are at least `age` seconds old."""
    return sql.statement("job_list_waiting", kind=kind, after=after, age=age, limit=limit)


def job_list_ended_many(sql: Sql, ids: Iterable[int]) -> Statement:
    """Ask which of the rows are final or gone; returns their ids."""
    return sql.statement("job_list_ended_many", ids=json.dumps(list(ids)))
