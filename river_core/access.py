"""How a client's calls reach the database: on the joined connection, on a given one or on our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from river_core.actions import Action, Setting
from river_core.ambient import joined
from river_core.clock import Clock
from river_core.drivers.base import Connection, Driver
from river_core.errors import OtherDatabaseError
from river_core.parity import Parity
from river_core.steps import run

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Access:
    """Runs actions on one database."""

    driver: Driver
    clock: Clock
    parity: Parity = Parity.PYTHON

    def run(self, action: Action[T]) -> T:
        """Run an action in the transaction around the call, else in one of our own."""
        with self.connection() as connection:
            return self._run(connection, action)

    def run_on(self, connection: Any, action: Action[T]) -> T:
        """Run an action in the open transaction of a connection, which the caller ends.

        Raises AmbientTransactionError for one that cannot be used.
        """
        return self._run(self.driver.adopt(connection), action)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend the connection that was given to `river_core.join` or a watched one, else one of our own."""
        adopted = self._ambient()
        if adopted is not None:
            yield adopted
            return
        with self.driver.connect() as own:
            yield own

    def _ambient(self) -> Connection | None:
        """Take no notice of a watched transaction that is on another database."""
        try:
            return self.driver.ambient()
        except OtherDatabaseError:
            if joined() is not None:
                raise
            return None

    def _run(self, connection: Connection, action: Action[T]) -> T:
        steps = action.steps(Setting(self.driver.sql, self.clock, self.parity))
        if not action.in_transaction:
            return run(connection, steps)
        with connection.transaction():
            return run(connection, steps)
