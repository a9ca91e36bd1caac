"""What the cleaners share that delete rows older than one retention."""

from __future__ import annotations

from datetime import datetime, timedelta

from river_core.clock import Clock, SystemClock
from river_core.db.statement import Statement
from river_core.drivers.base import Connection, Driver
from river_core.worker.maintenance.service import BATCH_ROWS, MaintenanceService, now_of


class HorizonCleaner(MaintenanceService):
    """Deletes what is older than its retention; subclasses name the statement and the defaults."""

    service_name: str
    default_retention: float
    """Seconds for which a row is kept."""
    default_interval: float
    """Seconds between two passes."""

    def __init__(
        self,
        driver: Driver,
        *,
        retention: float | None = None,
        interval: float | None = None,
        clock: Clock | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        """Keep rows for `retention` seconds; None takes the defaults of the class."""
        every = self.default_interval if interval is None else interval
        super().__init__(self.service_name, driver, every, batch_rows=batch_rows)
        self._retention = timedelta(seconds=self.default_retention if retention is None else retention)
        self._clock = clock or SystemClock()

    def statement(self, horizon: datetime, limit: int) -> Statement:
        """Return what deletes up to `limit` rows from before `horizon`."""
        raise TypeError(f"{type(self).__name__} defines no statement()")

    def work(self, connection: Connection, limit: int) -> int:
        """Delete up to `limit` rows; return how many there were."""
        now = now_of(self._clock, self._driver, connection)
        return len(connection.fetch(self.statement(now - self._retention, limit)))
