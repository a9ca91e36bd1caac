"""Actions on stored jobs as steps: generators that give a statement and are sent its rows.

So each is written once and runs on a blocking connection (`run`) and on an awaited one (`run_awaited`).
An error of the database is raised where the statement was given.
"""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime
from typing import Any, TypeVar

from river_core import validation
from river_core.db import jobs, notifications
from river_core.db.statement import Sql, Statement
from river_core.drivers.base import AwaitedConnection, Connection, Row
from river_core.errors import (
    DatabaseError,
    JobRunningError,
    NotFoundError,
    RejectedValueError,
    UniqueConflictError,
    ValidationError,
)
from river_core.job import JobRow, JobState, rfc3339

T = TypeVar("T")
Steps = Generator[Statement, list[Row], T]


def run(connection: Connection, steps: Steps[T]) -> T:
    """Run steps on a connection, in whatever transaction it has open, and return their result."""
    try:
        statement = next(steps)
        while True:
            try:
                rows = connection.fetch(statement)
            except DatabaseError as error:
                statement = steps.throw(error)
            else:
                statement = steps.send(rows)
    except StopIteration as end:
        result: T = end.value
        return result


async def run_awaited(connection: AwaitedConnection, steps: Steps[T]) -> T:
    """Run steps on an awaited connection, in whatever transaction it has open, and return their result."""
    try:
        statement = next(steps)
        while True:
            try:
                rows = await connection.fetch(statement)
            except DatabaseError as error:
                statement = steps.throw(error)
            else:
                statement = steps.send(rows)
    except StopIteration as end:
        result: T = end.value
        return result


def job_get(sql: Sql, job_id: int) -> Steps[JobRow]:
    """Read a job; raises NotFoundError."""
    rows = yield jobs.job_get_by_id(sql, checked_id(job_id))
    if not rows:
        raise not_found(job_id)
    return jobs.decode_job(sql, rows[0])


def job_cancel(sql: Sql, job_id: int, clock_now: datetime, now: datetime | None) -> Steps[JobRow]:
    """Cancel a job, and tell the workers of its queue where that changed it."""
    mark = rfc3339(clock_now)
    rows = yield jobs.job_cancel(sql, checked_id(job_id), mark, now)
    if not rows:
        raise not_found(job_id)
    row = jobs.decode_job(sql, rows[0])
    if row.metadata.get("cancel_attempted_at") == mark:
        payload = notifications.cancel_payload(row.id, row.queue)
        yield notifications.notify_many(sql, notifications.TOPIC_CONTROL, [payload])
    return row


def job_retry(sql: Sql, job_id: int, clock_now: datetime, now: datetime | None) -> Steps[JobRow]:
    """Make a job available now, and wake the workers of its queue where that changed it."""
    row = yield from _retried(sql, job_id, jobs.job_retry(sql, checked_id(job_id), now))
    if row is None:
        return _unretried((yield from job_get(sql, job_id)), clock_now)
    payload = notifications.insert_payload(row.queue)
    yield notifications.notify_many(sql, notifications.TOPIC_INSERT, [payload])
    return row


def job_retry_as_go(sql: Sql, job_id: int, clock_now: datetime, now: datetime | None) -> Steps[JobRow]:
    """Make a job available now as Go does: its cancellation mark stays, and nobody is told."""
    row = yield from _retried(sql, job_id, jobs.job_retry_as_go(sql, checked_id(job_id), now))
    return row or _unretried((yield from job_get(sql, job_id)), clock_now)


def _retried(sql: Sql, job_id: int, statement: Statement) -> Steps[JobRow | None]:
    try:
        rows = yield statement
    except RejectedValueError as error:
        raise UniqueConflictError(job_id) from error
    return jobs.decode_job(sql, rows[0]) if rows else None


def job_delete(sql: Sql, job_id: int) -> Steps[JobRow]:
    """Delete a job that does not run, and return it."""
    rows = yield jobs.job_delete(sql, checked_id(job_id))
    if not rows:
        yield from job_get(sql, job_id)
        raise JobRunningError(f"job {job_id} is running and cannot be deleted; cancel it first")
    return jobs.decode_job(sql, rows[0])


def request_resign(sql: Sql) -> Steps[None]:
    """Ask whoever leads to step down."""
    payload = notifications.request_resign_payload()
    yield notifications.notify_many(sql, notifications.TOPIC_LEADERSHIP, [payload])


def checked_id(job_id: Any) -> int:
    """Return a job's id; raises ValidationError for what is no number, NotFoundError beyond the column."""
    if isinstance(job_id, bool) or not isinstance(job_id, int):
        raise ValidationError(f"a job's id is a whole number, not {job_id!r}")
    if not 0 < job_id < 2**63:
        raise not_found(job_id)
    return job_id


def _unretried(row: JobRow, clock_now: datetime) -> JobRow:
    due = row.state is JobState.AVAILABLE and row.scheduled_at <= clock_now
    if row.attempt >= validation.MAX_ATTEMPTS and row.state is not JobState.RUNNING and not due:
        raise ValidationError(
            f"job {row.id} cannot be retried: its attempt {row.attempt} is the last there can be"
        )
    return row


def not_found(job_id: int) -> NotFoundError:
    """Return the error for a job that does not exist."""
    return NotFoundError(f"there is no job {job_id}")
