"""How a client's calls reach the database: on the joined connection, on a given one or on our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from river_core.ambient import joined
from river_core.clock import Clock, SystemClock
from river_core.db.statement import Sql
from river_core.drivers.base import Connection, Driver
from river_core.errors import OtherDatabaseError
from river_core.parity import Parity


@dataclass(frozen=True, slots=True)
class Session:
    """One connection with what its statements need. The database's clock counts, unless a test set one."""

    connection: Connection
    sql: Sql
    clock: Clock
    parity: Parity = Parity.PYTHON

    @property
    def now(self) -> datetime | None:
        """The time of a clock that a test set; None lets the database say what time it is."""
        return None if isinstance(self.clock, SystemClock) else self.clock.now()


@dataclass(frozen=True, slots=True)
class Access:
    """Opens sessions of one database."""

    driver: Driver
    clock: Clock
    parity: Parity = Parity.PYTHON

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Lend the connection that was given to `river_core.join` or a watched one, else one of our own."""
        adopted = self._ambient()
        if adopted is not None:
            yield self._session(adopted)
            return
        with self.driver.connect() as own:
            yield self._session(own)

    def _session(self, connection: Connection) -> Session:
        return Session(connection, self.driver.sql, self.clock, self.parity)

    def _ambient(self) -> Connection | None:
        """Take no notice of a watched transaction that is on another database."""
        try:
            return self.driver.ambient()
        except OtherDatabaseError:
            if joined() is not None:
                raise
            return None

    def session_on(self, connection: Any) -> Session:
        """Adopt a connection of the driver's library, whose open transaction the caller ends.

        Raises AmbientTransactionError for one that cannot be used.
        """
        return self._session(self.driver.adopt(connection))
