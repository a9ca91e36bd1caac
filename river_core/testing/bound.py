"""A driver that has no connection but the one of the test's transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from river_core.ambient import join
from river_core.db.statement import Sql
from river_core.drivers.base import Connection, Driver, Listener
from river_core.errors import ConfigurationError


class BoundDriver:
    """Lends the test's connection wherever a driver would lend one of its own.

    So what a job inserts, checkpoints and leaves behind is in that transaction, and is seen there.
    """

    def __init__(self, driver: Driver, raw: Any) -> None:
        """Bind `driver` to `raw`, a connection that it adopts."""
        self._driver = driver
        self._raw = raw

    @property
    def sql(self) -> Sql:
        """The statements of the driver."""
        return self._driver.sql

    def connect(self) -> AbstractContextManager[Connection]:
        """Lend the test's connection."""
        return nullcontext(self._driver.adopt(self._raw))

    def ambient(self) -> Connection | None:
        """As the driver does: inside the test worker that is the test's, unless the job joins another."""
        return self._driver.ambient()

    def open_transaction(self) -> Any:
        """As the driver does."""
        return self._driver.open_transaction()

    def adopt(self, raw: Any) -> Connection:
        """As the driver does."""
        return self._driver.adopt(raw)

    @property
    def is_connected(self) -> bool:
        """No: there is only the test's."""
        return False

    def listen(self, topics: Sequence[str]) -> Listener:
        """Refuse: a transaction hears nothing before its end."""
        raise ConfigurationError("nothing can be listened to in the transaction of a test")

    def close(self) -> None:
        """Leave the connection to the test."""


@contextmanager
def bound(driver: Driver, tx: Any) -> Iterator[Driver]:
    """Give a driver whose every statement is in the transaction of `tx` while the block runs.

    For None that is the joined or watched transaction, else that of the Django alias; where none is open
    the driver itself is given, whose statements commit by themselves. Raises AmbientTransactionError for
    a connection that cannot be used.
    """
    if tx is None:
        found = driver.ambient()
        if found is None:
            yield driver
            return
        tx = found.raw
    driver.adopt(tx)
    with join(tx):
        yield BoundDriver(driver, tx)
