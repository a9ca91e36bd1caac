"""Deletes the rows of queues that no client works any more (River: QueueCleaner)."""

from __future__ import annotations

from datetime import timedelta

from river_core.clock import Clock, SystemClock
from river_core.db.maintenance import queue_delete_expired
from river_core.drivers.base import Connection, Driver
from river_core.worker.maintenance.service import BATCH_ROWS, MaintenanceService

INTERVAL_SECONDS = 3_600.0
RETENTION_SECONDS = 86_400.0


class QueueCleaner(MaintenanceService):
    """Deletes, every hour, queues that were not reported for a day. A paused one loses its pause."""

    def __init__(
        self,
        driver: Driver,
        *,
        retention: float = RETENTION_SECONDS,
        interval: float = INTERVAL_SECONDS,
        clock: Clock | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        """Keep queues for `retention` seconds after their last report."""
        super().__init__("river-queue-cleaner", driver, interval, batch_rows=batch_rows)
        self._retention = timedelta(seconds=retention)
        self._clock = clock or SystemClock()

    def work(self, connection: Connection, limit: int) -> int:
        """Delete up to `limit` queues by name."""
        horizon = self._clock.now() - self._retention
        return len(connection.fetch(queue_delete_expired(self._driver.sql, horizon, limit)))
