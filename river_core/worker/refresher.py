"""Keeps long attempts from looking stuck to a foreign leader.

Go, Ruby, Rust and JavaScript leaders rescue, or discard, what has been running for an hour. A row whose
attempted_at is refreshed never is that old while its owner lives; the true start stays in metadata.
It looks twice in an interval, so a row is at most one and a half intervals old, and two where its task held
it locked at one look. This is also the heartbeat of clients that hold no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta

from river_core.clock import Clock, SystemClock
from river_core.db.liveness import job_refresh_attempts
from river_core.drivers.base import Driver
from river_core.service import Service
from river_core.worker.maintenance.service import now_of


class AttemptRefresher(Service):
    """One statement for all attempts of this client that are older than `interval` seconds."""

    def __init__(
        self,
        driver: Driver,
        client_id: str,
        running: Callable[[], Collection[int]],
        interval: float,
        *,
        clock: Clock | None = None,
    ) -> None:
        """Refresh the rows of `running` jobs only: what the client lost sight of must look stuck."""
        super().__init__("river-refresher")
        self._driver = driver
        self._client_id = client_id
        self._running = running
        self._interval = interval
        self._clock = clock or SystemClock()

    def run_once(self) -> float:
        """Refresh what has been running for longer than the interval."""
        ids = list(self._running())
        if ids:
            with self._driver.connect() as connection:
                now = now_of(self._clock, self._driver, connection)
                horizon = now - timedelta(seconds=self._interval)
                connection.fetch(job_refresh_attempts(self._driver.sql, self._client_id, ids, horizon))
        return self._interval / 2
