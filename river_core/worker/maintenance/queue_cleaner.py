"""Deletes the rows of queues that no client works any more (River: QueueCleaner)."""

from __future__ import annotations

from datetime import datetime

from river_core.db.maintenance import queue_delete_expired
from river_core.db.statement import Statement
from river_core.worker.maintenance.horizon_cleaner import HorizonCleaner


class QueueCleaner(HorizonCleaner):
    """Deletes, every hour, queues that were not reported for a day. A paused one loses its pause."""

    service_name = "river-queue-cleaner"
    default_retention = 86_400.0
    default_interval = 3_600.0

    def statement(self, horizon: datetime, limit: int) -> Statement:
        """Delete up to `limit` queues by name."""
        return queue_delete_expired(self._driver.sql, horizon, limit)
