"""Takes jobs back that have been running for longer than anything should (River: JobRescuer).

For rows of every language and kind, after an hour by default. What a dead Python client left is taken
back much earlier by `river_core.worker.recovery`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from river_core.clock import Clock, SystemClock
from river_core.db import jobs, maintenance
from river_core.db.maintenance import Rescue, limit_time
from river_core.decide import Attempt, next_retry
from river_core.drivers.base import Driver, Row
from river_core.errors import JobRowDecodeError, RejectedValueError, RiverError
from river_core.job import AttemptError, JobRow, JobState
from river_core.retry import DefaultRetryPolicy, RetryPolicy
from river_core.task import Registry, Task
from river_core.worker.maintenance.service import BATCH_ROWS, MaintenanceService, now_of

INTERVAL_SECONDS = 30.0
RESCUE_TEXT = "Stuck job rescued by JobRescuer"
CANCEL_MARK = "cancel_attempted_at"

logger = logging.getLogger(__name__)


class UnknownKinds(StrEnum):
    """What becomes of stuck jobs whose kind this client does not know; Go, Rust and JavaScript discard."""

    RETRY = "retry"
    DISCARD = "discard"
    IGNORE = "ignore"


class Rescuer(MaintenanceService):
    """Looks every 30 seconds for rows that have been running for `rescue_after` seconds."""

    def __init__(
        self,
        driver: Driver,
        registry: Registry,
        *,
        rescue_after: float = 3600.0,
        job_timeout: float | None = 60.0,
        unknown_kinds: UnknownKinds = UnknownKinds.RETRY,
        policy: RetryPolicy | None = None,
        interval: float = INTERVAL_SECONDS,
        clock: Clock | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        """Judge by the tasks of `registry`; `job_timeout` is what a task's time-out of 0 means."""
        super().__init__("river-rescuer", driver, interval, batch_rows=batch_rows)
        self._registry = registry
        self._rescue_after = timedelta(seconds=rescue_after)
        self._job_timeout = job_timeout
        self._unknown_kinds = unknown_kinds
        self._policy = policy or DefaultRetryPolicy()
        self._clock = clock or SystemClock()
        self._horizon = datetime.min.replace(tzinfo=UTC)
        self._after = 0

    def begin_pass(self) -> None:
        """Start from the lowest id; the horizon stays for the whole pass."""
        with self._driver.connect() as connection:
            self._horizon = now_of(self._clock, self._driver, connection) - self._rescue_after
        self._after = 0

    def run_batch(self, limit: int) -> int:
        """Read one page, ask the tasks without a transaction open, and write what was decided."""
        sql = self._driver.sql
        page = maintenance.job_get_stuck(sql, self._horizon, self._after, limit)
        with self._driver.connect() as connection, connection.transaction():
            connection.fetch(limit_time(sql, self._query_seconds))
            found = connection.fetch(page)
        rows = [row for row in map(self._decode, found) if row is not None]
        if found:
            self._after = found[-1][0]
        self._write([rescue for row in rows if (rescue := self._judge(row)) is not None])
        return len(found)

    def _decode(self, row: Row) -> JobRow | None:
        try:
            return jobs.decode_job(self._driver.sql, row)
        except JobRowDecodeError:
            logger.exception("a stuck job cannot be read and is left alone", extra={"job_id": row[0]})
            return None

    def _write(self, rescues: Sequence[Rescue]) -> None:
        """Write verdicts; halve the batch where the database refuses one, until that is alone."""
        if not rescues:
            return
        sql = self._driver.sql
        try:
            with self._driver.connect() as connection, connection.transaction():
                connection.fetch(limit_time(sql, self._query_seconds))
                written = connection.fetch(maintenance.job_rescue_many(sql, rescues, self._horizon))
            logger.warning("%d stuck jobs were rescued", len(written))
        except RejectedValueError:
            if len(rescues) == 1:
                logger.exception("a stuck job cannot be rescued", extra={"job_id": rescues[0].row.id})
                return
            middle = len(rescues) // 2
            self._write(rescues[:middle])
            self._write(rescues[middle:])

    # -- verdicts, in River's order

    def _judge(self, row: JobRow) -> Rescue | None:
        try:
            return self._verdict(row, self._clock.now())
        except Exception:
            logger.exception("a stuck job cannot be judged and is left alone", extra={"job_id": row.id})
            return None

    def _verdict(self, row: JobRow, now: datetime) -> Rescue | None:
        if CANCEL_MARK in _metadata(row):
            return _ended(row, JobState.CANCELLED, now)
        task = self._registry.get(row.kind)
        if task is None:
            return self._of_unknown_kind(row, now)
        if not _has_args(row):
            return self._retried(row, None, now)
        if self._may_still_run(row, task, now):
            return None
        return self._retried(row, task, now)

    def _of_unknown_kind(self, row: JobRow, now: datetime) -> Rescue | None:
        match self._unknown_kinds:
            case UnknownKinds.IGNORE:
                return None
            case UnknownKinds.DISCARD:
                return _ended(row, JobState.DISCARDED, now)
            case UnknownKinds.RETRY:
                return self._retried(row, None, now)

    def _may_still_run(self, row: JobRow, task: Task, now: datetime) -> bool:
        timeout = task.timeout(row)
        if timeout == 0:
            timeout = self._job_timeout
        if timeout is None or timeout < 0 or row.attempted_at is None:
            return True
        return now - row.attempted_at < timedelta(seconds=timeout)

    def _retried(self, row: JobRow, task: Task | None, now: datetime) -> Rescue:
        if row.attempt >= row.max_attempts:
            return _ended(row, JobState.DISCARDED, now)
        when = next_retry(Attempt(row, now, task, self._policy), RiverError(RESCUE_TEXT), now)
        return Rescue(row, _client_id(row), JobState.RETRYABLE, _error(row, now), scheduled_at=when)


def _ended(row: JobRow, state: JobState, now: datetime) -> Rescue:
    return Rescue(row, _client_id(row), state, _error(row, now), finalized_at=now)


def _error(row: JobRow, now: datetime) -> AttemptError:
    return AttemptError(now, row.attempt, RESCUE_TEXT, "")


def _client_id(row: JobRow) -> str | None:
    return row.attempted_by[-1] if row.attempted_by else None


def _metadata(row: JobRow) -> dict[str, object]:
    try:
        return row.metadata
    except JobRowDecodeError:
        return {}


def _has_args(row: JobRow) -> bool:
    try:
        return row.args is not None
    except JobRowDecodeError:
        return False
