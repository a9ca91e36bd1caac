"""Statements that read, cancel, retry and delete jobs, and their rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from river_core.db.statement import Dialect, Sql, Statement
from river_core.db.times import decode_time, decode_time_or_none, readable_time
from river_core.errors import JobRowDecodeError
from river_core.job import JobRow, JobState

COLUMN_COUNT = 18
"""How many columns of a row are the job's; a statement may add others behind them."""

_STATES = {state.value: state for state in JobState}


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


def job_retry_as_go(sql: Sql, job_id: int, now: datetime | None = None) -> Statement:
    """Make a job available now, its cancellation mark kept, as Go does."""
    return sql.statement("job_retry_as_go", id=job_id, now=sql.time(now))


def job_delete(sql: Sql, job_id: int) -> Statement:
    """Delete a job that does not run (River: JobDelete)."""
    return sql.statement("job_delete", id=job_id)
