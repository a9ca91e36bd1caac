"""Deletes old rows of SQLite's notification outbox (River: SQLiteNotificationCleaner)."""

from __future__ import annotations

from datetime import datetime

from river_core.db.maintenance import notification_delete_before
from river_core.db.statement import Statement
from river_core.worker.maintenance.horizon_cleaner import HorizonCleaner


class NotificationCleaner(HorizonCleaner):
    """Deletes, every minute, notifications that every listener has long read. For SQLite only."""

    service_name = "river-notification-cleaner"
    default_retention = 300.0
    default_interval = 60.0

    def statement(self, horizon: datetime, limit: int) -> Statement:
        """Delete up to `limit` notifications, oldest first."""
        return notification_delete_before(self._driver.sql, horizon, limit)
