"""River's database beside those of Django: another server, or another database of the same.

Inserts cannot be part of Django's transactions there. They are made after the commit of the one that is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from django.db import connections

from river_core.db.statement import Sql
from river_core.drivers.base import Connection, CreatesFile, Driver, Listener
from river_core.drivers.django_adopted import has_open_transaction
from river_core.errors import OtherDatabaseError


class BesideDjango:
    """A driver that sees the open transactions of Django's aliases, none of which is on its database."""

    def __init__(self, driver: Driver) -> None:
        """Take the driver for River's database."""
        self._driver = driver

    @property
    def sql(self) -> Sql:
        """The statements of the driver."""
        return self._driver.sql

    def connect(self) -> AbstractContextManager[Connection]:
        """Lend a connection of the driver."""
        return self._driver.connect()

    def ambient(self) -> Connection | None:
        """Adopt what is joined or watched, as the driver does.

        Raises OtherDatabaseError as well where an alias of Django has a transaction open.
        """
        found = self._driver.ambient()
        if found is None and (alias := _alias_in_transaction()) is not None:
            raise OtherDatabaseError(
                f"the alias {alias!r} of Django has a transaction open, but River lives in another database; "
                "insert with enqueue='after_commit' to do it after that commit, or with enqueue='own' now"
            )
        return found

    def open_transaction(self) -> Any:
        """Return what the driver sees, else the connection of an alias with an open transaction."""
        found = self._driver.open_transaction()
        if found is not None:
            return found
        alias = _alias_in_transaction()
        return None if alias is None else connections[alias]

    def adopt(self, raw: Any) -> Connection:
        """Adopt a connection, as the driver does."""
        return self._driver.adopt(raw)

    @property
    def is_connected(self) -> bool:
        """Whether the driver has connections of its own open."""
        return self._driver.is_connected

    def create_file(self) -> None:
        """Create the driver's file, where it has one."""
        if isinstance(self._driver, CreatesFile):
            self._driver.create_file()

    def listen(self, topics: Sequence[str]) -> Listener:
        """Open a listener of the driver."""
        return self._driver.listen(topics)

    def close(self) -> None:
        """Close the driver."""
        self._driver.close()


def _alias_in_transaction() -> str | None:
    return next((alias for alias in connections if has_open_transaction(alias)), None)
