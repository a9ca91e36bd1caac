"""The rules that all maintenance services share (River: maintenance services).

A pass runs at once after the start and then per interval, in batches of one transaction each; a pass
that fails is logged and tried again after the interval.
"""

from __future__ import annotations

import random
import time
from datetime import datetime

from river_core.clock import Clock, SystemClock
from river_core.db.maintenance import database_time, decode_database_time, limit_time
from river_core.drivers.base import Connection, Driver
from river_core.errors import OperationalError
from river_core.service import Service

BATCH_ROWS = 10_000
REDUCED_BATCH_ROWS = 1_000
TIMEOUTS_TO_REDUCE = 3
TIMEOUT_WINDOW_SECONDS = 600.0
QUERY_SECONDS = 30.0
START_STAGGER_SECONDS = 1.0
QUERY_CANCELED = "57014"


class BatchSize:
    """How many rows a batch takes: fewer, for good, after three time-outs in a row within ten minutes."""

    def __init__(self, rows: int = BATCH_ROWS) -> None:
        """Begin with `rows`."""
        self.rows = rows
        self._timeouts: list[float] = []

    def succeeded(self) -> None:
        """Forget the time-outs before this batch."""
        self._timeouts.clear()

    def timed_out(self, now: float) -> None:
        """Count a time-out at `now`, in seconds of any steady clock."""
        recent = [moment for moment in self._timeouts if now - moment < TIMEOUT_WINDOW_SECONDS]
        self._timeouts = [*recent, now]
        if len(self._timeouts) >= TIMEOUTS_TO_REDUCE:
            self.rows = min(self.rows, REDUCED_BATCH_ROWS)


class LeaderService(Service):
    """What a leader runs; the services of one leader begin at slightly different times."""

    start_stagger: float = START_STAGGER_SECONDS
    """Within how many seconds of the start the first turn comes."""

    def on_start(self) -> None:
        """Wait a little."""
        self.pause(random.uniform(0, self.start_stagger))  # noqa: S311 - jitter, no secret


class MaintenanceService(LeaderService):
    """One service: override `work`, which does one batch."""

    batch_pause: tuple[float, float] = (0.05, 1.0)
    """Least and most seconds between two full batches."""

    def __init__(
        self,
        name: str,
        driver: Driver,
        interval: float,
        *,
        query_seconds: float = QUERY_SECONDS,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        """Pass every `interval` seconds; a statement may take `query_seconds`."""
        super().__init__(name)
        self.interval = interval
        self.error_delay = interval
        self.batch_size = BatchSize(batch_rows)
        self._driver = driver
        self._query_seconds = query_seconds

    def run_once(self) -> float:
        """Make one pass: batches until one is not full."""
        self.begin_pass()
        while True:
            limit = self.batch_size.rows
            if self._measured_batch(limit) < limit or self.stopping:
                return self.interval
            self.pause(random.uniform(*self.batch_pause))  # noqa: S311 - jitter, no secret

    def _measured_batch(self, limit: int) -> int:
        try:
            taken = self.run_batch(limit)
        except OperationalError as error:
            if error.sqlstate == QUERY_CANCELED:
                self.batch_size.timed_out(time.monotonic())
            raise
        self.batch_size.succeeded()
        return taken

    def begin_pass(self) -> None:
        """Called before the first batch of a pass."""

    def run_batch(self, limit: int) -> int:
        """Do one batch in a transaction; return how many rows it took."""
        with self._driver.connect() as connection, connection.transaction():
            connection.fetch(limit_time(self._driver.sql, self._query_seconds))
            return self.work(connection, limit)

    def work(self, connection: Connection, limit: int) -> int:
        """Take up to `limit` rows inside an open transaction; return how many it took."""
        raise TypeError(f"{type(self).__name__} defines no work()")


def now_of(clock: Clock, driver: Driver, connection: Connection) -> datetime:
    """Return the database's time, by which rows were stamped, unless the clock is not the machine's."""
    if not isinstance(clock, SystemClock):
        return clock.now()
    sql = driver.sql
    return decode_database_time(sql, connection.fetch(database_time(sql))[0])
