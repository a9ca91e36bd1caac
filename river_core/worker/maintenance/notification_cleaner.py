"""Deletes old rows of SQLite's notification outbox (River: SQLiteNotificationCleaner)."""

from __future__ import annotations

from datetime import timedelta

from river_core.clock import Clock, SystemClock
from river_core.db.maintenance import notification_delete_before
from river_core.drivers.base import Connection, Driver
from river_core.worker.maintenance.service import BATCH_ROWS, MaintenanceService

INTERVAL_SECONDS = 60.0
RETENTION_SECONDS = 300.0


class NotificationCleaner(MaintenanceService):
    """Deletes, every minute, notifications that every listener has long read. For SQLite only."""

    def __init__(
        self,
        driver: Driver,
        *,
        retention: float = RETENTION_SECONDS,
        interval: float = INTERVAL_SECONDS,
        clock: Clock | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        """Keep notifications for `retention` seconds."""
        super().__init__("river-notification-cleaner", driver, interval, batch_rows=batch_rows)
        self._retention = timedelta(seconds=retention)
        self._clock = clock or SystemClock()

    def work(self, connection: Connection, limit: int) -> int:
        """Delete up to `limit` notifications, oldest first."""
        horizon = self._clock.now() - self._retention
        return len(connection.fetch(notification_delete_before(self._driver.sql, horizon, limit)))
