"""Deletes finished jobs whose retention is over (River: JobCleaner)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from river_core.clock import Clock, SystemClock
from river_core.db.maintenance import job_delete_before
from river_core.drivers.base import Connection, Driver
from river_core.errors import ConfigurationError
from river_core.worker.maintenance.service import (
    BATCH_ROWS,
    QUERY_SECONDS,
    MaintenanceService,
    now_of,
)

INTERVAL_SECONDS = 30.0
DAY_SECONDS = 86_400.0
FOREVER = -1


@dataclass(frozen=True, slots=True)
class Retention:
    """For how many seconds finished jobs are kept, by state; None, or River's -1, is forever."""

    cancelled: float | None = DAY_SECONDS
    completed: float | None = DAY_SECONDS
    discarded: float | None = 7 * DAY_SECONDS

    def __post_init__(self) -> None:
        """Raise ConfigurationError for other negative times."""
        for state in ("cancelled", "completed", "discarded"):
            seconds = getattr(self, state)
            if seconds is not None and seconds < 0 and seconds != FOREVER:
                raise ConfigurationError(
                    f"the retention of {state} jobs must be 0 or more seconds, or None to keep them, "
                    f"not {seconds!r}"
                )

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is ever deleted."""
        return all(_is_forever(seconds) for seconds in (self.cancelled, self.completed, self.discarded))


def _is_forever(seconds: float | None) -> bool:
    return seconds is None or seconds == FOREVER


class JobCleaner(MaintenanceService):
    """Deletes every 30 seconds."""

    def __init__(
        self,
        driver: Driver,
        retention: Retention | None = None,
        *,
        timeout: float = QUERY_SECONDS,
        interval: float = INTERVAL_SECONDS,
        clock: Clock | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        """Keep finished jobs as `retention` says; a statement may take `timeout` seconds."""
        super().__init__("river-job-cleaner", driver, interval, query_seconds=timeout, batch_rows=batch_rows)
        self._retention = retention or Retention()
        self._clock = clock or SystemClock()

    def run_batch(self, limit: int) -> int:
        """Ask the database for nothing when everything is kept."""
        return 0 if self._retention.keeps_all else super().run_batch(limit)

    def work(self, connection: Connection, limit: int) -> int:
        """Delete up to `limit` jobs, lowest ids first."""
        now, kept = now_of(self._clock, self._driver, connection), self._retention
        statement = job_delete_before(
            self._driver.sql,
            cancelled=_before(now, kept.cancelled),
            completed=_before(now, kept.completed),
            discarded=_before(now, kept.discarded),
            limit=limit,
        )
        return len(connection.fetch(statement))


def _before(now: datetime, seconds: float | None) -> datetime | None:
    return None if seconds is None or _is_forever(seconds) else now - timedelta(seconds=seconds)
