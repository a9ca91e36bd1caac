"""Makes scheduled and retryable jobs available when they fall due (River: JobScheduler).

It looks one interval ahead: a claim checks the time again, so an early promotion starts nothing
early. Of jobs that share a unique key only one survives.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from datetime import timedelta

from river_core.clock import Clock, SystemClock
from river_core.db import maintenance, notifications
from river_core.drivers.base import Connection, Driver
from river_core.errors import RejectedValueError
from river_core.worker.maintenance.service import BATCH_ROWS, MaintenanceService, now_of

INTERVAL_SECONDS = 5.0
CONFLICT_TRIES = 3

logger = logging.getLogger(__name__)

AllowQueues = Callable[[Collection[str]], Collection[str]]
"""Which of some queues may be announced now (River: the insert-notify limiter)."""


class Scheduler(MaintenanceService):
    """Promotes every 5 seconds and announces the queues in which a job can start."""

    def __init__(
        self,
        driver: Driver,
        *,
        allow: AllowQueues = list,
        interval: float = INTERVAL_SECONDS,
        clock: Clock | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        """Look `interval` seconds ahead, as often as that; `allow` holds notifications back."""
        super().__init__("river-scheduler", driver, interval, batch_rows=batch_rows)
        self._allow = allow
        self._clock = clock or SystemClock()

    def run_batch(self, limit: int) -> int:
        """Promote one batch; once more when a job with the same unique key was inserted meanwhile."""
        for _ in range(CONFLICT_TRIES - 1):
            try:
                return super().run_batch(limit)
            except RejectedValueError as error:
                logger.info("a unique key was taken while jobs were scheduled: %s", error)
        return super().run_batch(limit)

    def work(self, connection: Connection, limit: int) -> int:
        """Promote up to `limit` jobs."""
        sql, now = self._driver.sql, now_of(self._clock, self._driver, connection)
        horizon = now + timedelta(seconds=self.interval)
        rows = connection.fetch(maintenance.job_schedule(sql, horizon, limit, now))
        done = maintenance.decode_scheduled(rows)
        if queues := self._allow(done.queues):
            payloads = [notifications.insert_payload(queue) for queue in queues]
            connection.fetch(notifications.notify_many(sql, notifications.TOPIC_INSERT, payloads))
        if done.put_off:
            logger.warning("%d jobs wait because a job with their unique key exists", done.put_off)
        return done.total
