"""Statements that insert, read, cancel, retry and delete jobs, and their rows."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from river_core.db.statement import Dialect, Sql, Statement
from river_core.db.times import decode_time, decode_time_or_none, readable_time
from river_core.errors import JobRowDecodeError
from river_core.insert import InsertParams
from river_core.job import JobRow, JobState

COLUMN_COUNT = 18
"""How many columns of a row are the job's; a statement may add others behind them."""

_STATES = {state.value: state for state in JobState}
_NO_TAGS = "[]"


def decode_job(sql: Sql, row: Sequence[Any]) -> JobRow:
    """Return the job in a row that starts with `job_columns`; raises JobRowDecodeError."""
    if sql.dialect is Dialect.POSTGRES:
        return JobRow(row[0], _state(row), *row[2:COLUMN_COUNT])
    decoders = (decode_time_or_none, decode_time, decode_time_or_none, decode_time)
    return _with_times(row, [decode(row[4 + index]) for index, decode in enumerate(decoders)])


def decode_claimed_job(sql: Sql, row: Sequence[Any]) -> JobRow:
    """Return a job that this client claimed; a time that cannot be read does not lose the claim."""
    if sql.dialect is Dialect.POSTGRES:
        return JobRow(row[0], _state(row), *row[2:COLUMN_COUNT])
    return _with_times(row, [readable_time(value) for value in row[4:8]])


def _with_times(row: Sequence[Any], times: Sequence[Any]) -> JobRow:
    return JobRow(row[0], _state(row), row[2], row[3], *times, *row[8:COLUMN_COUNT])


def _state(row: Sequence[Any]) -> JobState:
    state = _STATES.get(row[1])
    if state is None:
        raise JobRowDecodeError(f"state: {row[1]!r} is unknown")
    return state


def fresh_nonce() -> str:
    """Return the 16 hex digits that tell a new row from one that holds its unique key, on SQLite."""
    return secrets.token_hex(8)


def job_insert(sql: Sql, row: InsertParams, nonce: str | None, notification: str | None) -> Statement:
    """Insert one job; on Postgres also notify with the payload `notification`, if any.

    The last column but one (Postgres) or the last one (SQLite: the nonce) tells a duplicate.
    """
    return sql.statement(
        "job_insert",
        args=row.encoded_args,
        created_at=sql.time(row.created_at),
        kind=row.kind,
        max_attempts=row.max_attempts,
        metadata=row.encoded_metadata,
        priority=row.priority,
        queue=row.queue,
        scheduled_at=sql.time(row.scheduled_at),
        state=row.state.value,
        tags=json.dumps(row.tags) if row.tags else _NO_TAGS,
        unique_key=row.unique_key,
        unique_states=row.unique_states,
        nonce=nonce,
        notification=notification,
        schema=sql.schema or None,
    )


def job_insert_many(
    sql: Sql, rows: Sequence[InsertParams], nonces: Sequence[str], notifications: Sequence[str]
) -> Statement:
    """Insert many jobs in one statement (River: JobInsertFastMany, JobInsertFullMany).

    On Postgres it also notifies with the payloads `notifications`; on SQLite each row takes its nonce.
    """
    if sql.dialect is Dialect.POSTGRES:
        documents = [
            {**_document(sql, row), "unique_key": row.unique_key and row.unique_key.hex()} for row in rows
        ]
        return sql.statement(
            "job_insert_many",
            jobs=_compact(documents),
            notifications=_compact(list(notifications)),
            schema=sql.schema or None,
        )
    keys = bytearray()
    documents = []
    for row, nonce in zip(rows, nonces, strict=True):
        document = {**_document(sql, row), "nonce": nonce}
        if row.unique_key is not None:
            document |= {"unique_key_start": len(keys) + 1, "unique_key_size": len(row.unique_key)}
            keys += row.unique_key
        documents.append(document)
    return sql.statement("job_insert_many", jobs=_compact(documents), unique_keys=bytes(keys))


def _document(sql: Sql, row: InsertParams) -> dict[str, Any]:
    return {
        "args": row.encoded_args,
        "created_at": sql.time(row.created_at),
        "kind": row.kind,
        "max_attempts": row.max_attempts,
        "metadata": row.encoded_metadata,
        "priority": row.priority,
        "queue": row.queue,
        "scheduled_at": sql.time(row.scheduled_at),
        "state": row.state.value,
        "tags": row.tags,
        "unique_states": row.unique_states,
    }


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def job_get_by_id(sql: Sql, job_id: int) -> Statement:
    """Read one job (River: JobGetByID)."""
    return sql.statement("job_get_by_id", id=job_id)


def job_get_by_id_many(sql: Sql, ids: Iterable[int]) -> Statement:
    """Read the jobs that exist, in order of id (River: JobGetByIDMany)."""
    return sql.statement("job_get_by_id_many", ids=json.dumps(list(ids)))


def job_cancel(sql: Sql, job_id: int, attempted_at: str, now: datetime | None = None) -> Statement:
    """Cancel a job, or mark it if it runs (River: JobCancel); `attempted_at` is RFC 3339 text."""
    return sql.statement("job_cancel", id=job_id, attempted_at=attempted_at, now=sql.time(now))


def job_retry(sql: Sql, job_id: int, now: datetime | None = None) -> Statement:
    """Make a job available now (River: JobRetry); no row where nothing is to change or it may not."""
    return sql.statement("job_retry", id=job_id, now=sql.time(now))


def job_delete(sql: Sql, job_id: int) -> Statement:
    """Delete a job that does not run (River: JobDelete)."""
    return sql.statement("job_delete", id=job_id)
