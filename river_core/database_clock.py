"""Lets a process follow its database's clock, and says so where the machine's is wrong."""

from __future__ import annotations

import logging
import time

from river_core import clock
from river_core.db.maintenance import database_time, decode_database_time
from river_core.drivers.base import Connection, Driver

INTERVAL_SECONDS = 10.0

logger = logging.getLogger(__name__)


class DatabaseClock:
    """Asks a database for the time now and then. Used by one thread at a time."""

    def __init__(self, driver: Driver, interval: float = INTERVAL_SECONDS) -> None:
        """Ask at most every `interval` seconds."""
        self._driver = driver
        self._interval = interval
        self._next = 0.0
        self._said = False

    def follow(self) -> None:
        """Ask again if it is time to; raises DatabaseError."""
        if time.monotonic() >= self._next:
            with self._driver.connect() as connection:
                self.follow_on(connection)

    def follow_on(self, connection: Connection) -> None:
        """Ask on a connection."""
        sql = self._driver.sql
        before = time.monotonic()
        [row] = connection.fetch(database_time(sql))
        after = time.monotonic()
        self._next = after + self._interval
        self._say(clock.learn(decode_database_time(sql, row), before, after))

    def _say(self, ahead: float) -> None:
        if ahead and not self._said:
            logger.warning(
                "this machine's clock is %.1f s %s the database's, which counts; set it right, with NTP",
                abs(ahead),
                "ahead of" if ahead > 0 else "behind",
            )
        self._said = bool(ahead)
