"""Lets a process follow its database's clock, and says so where the machine's is wrong."""

from __future__ import annotations

import logging
import time
from datetime import datetime

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

    @property
    def is_due(self) -> bool:
        """Whether it is time to ask again."""
        return time.monotonic() >= self._next

    def follow(self) -> None:
        """Ask again if it is time to; raises DatabaseError."""
        if self.is_due:
            with self._driver.connect() as connection:
                self.follow_on(connection)

    def follow_on(self, connection: Connection) -> None:
        """Ask on a connection."""
        sql = self._driver.sql
        before = time.monotonic()
        [row] = connection.fetch(database_time(sql))
        self.hear(decode_database_time(sql, row), before, time.monotonic())

    def hear(self, told: datetime, before: float, after: float) -> None:
        """Take the time that a statement brought which ran between two moments of the monotonic clock."""
        self._next = after + self._interval
        self._say(clock.learn(told, before, after))

    def _say(self, ahead: float) -> None:
        if ahead and not self._said:
            logger.warning(
                "this machine's clock is %.1f s %s the database's, which counts; set it right, with NTP",
                abs(ahead),
                "ahead of" if ahead > 0 else "behind",
            )
        self._said = bool(ahead)
