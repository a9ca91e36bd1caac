"""The database of one adapter process: its drivers by schema, its clients and its open transactions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from river_core.ambient import join
from river_core.client import Client
from river_core.conformance.failures import NOT_FOUND, CodedError, invalid_params, rejected
from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.drivers.psycopg import PsycopgDriver
from river_core.drivers.sqlite import SqliteDriver
from river_core.drivers.sqlite_errors import SQLITE_ERRORS
from river_core.errors import ConfigurationError
from river_core.inserting import InsertNotifyLimiter
from river_core.parity import Parity

MAX_POOLED = 9
"""The suite allows ten connections; the tenth is the worker's listener."""


COOLDOWN_SECONDS = 0.001
"""What the reference has between two fetches, and so between two notifications of inserts."""


class Database:
    """Where an adapter works; used by the thread that answers requests."""

    def __init__(self, driver: Driver) -> None:
        """Take the driver of the default schema; nothing connects yet."""
        self._drivers: dict[str, Driver] = {"": driver}
        self._clients: dict[str, Client] = {}
        self._transactions: dict[str, Transaction] = {}

    @property
    def dialect(self) -> Dialect:
        """Which of the two databases this is."""
        return self._drivers[""].sql.dialect

    def driver(self, schema: str) -> Driver:
        """Return the driver of a schema; all share their connections. Raises ConfigurationError."""
        if schema not in self._drivers:
            base = self._drivers[""]
            if not isinstance(base, PsycopgDriver):
                raise ConfigurationError(f"schema {schema!r} cannot be used on SQLite")
            self._drivers[schema] = base.in_schema(schema)
        return self._drivers[schema]

    def client(self, schema: str) -> Client:
        """Return the client of a schema, which inserts and manages jobs as Go does."""
        if schema not in self._clients:
            self._clients[schema] = Client(
                self.driver(schema), parity=Parity.GO, limiter=InsertNotifyLimiter(COOLDOWN_SECONDS)
            )
        return self._clients[schema]

    def forget_plans(self) -> None:
        """Let go of connections at rest, whose prepared statements are about tables that are gone."""
        self._drivers[""].close()

    # -- transactions

    def begin(self, name: str) -> None:
        """Open a transaction under a new handle."""
        if not name:
            raise invalid_params("tx is required")
        if name in self._transactions:
            raise rejected(f"transaction {name!r} is open already")
        self._transactions[name] = Transaction(self._drivers[""])

    def end(self, name: str, commit: bool) -> None:
        """Commit or roll back; the handle is gone whether that succeeds or not."""
        transaction = self._known(name)
        del self._transactions[name]
        transaction.end(commit)

    def within(self, name: str) -> AbstractContextManager[None]:
        """Let calls of the block join the transaction of a handle; of none for an empty one."""
        return join(self._known(name).raw) if name else nullcontext()

    def _known(self, name: str) -> Transaction:
        if name not in self._transactions:
            raise CodedError(NOT_FOUND, f"transaction {name!r} is not open")
        return self._transactions[name]

    def roll_back_all(self) -> None:
        """Roll back what is open."""
        for name in list(self._transactions):
            with suppress(CodedError):
                self.end(name, commit=False)

    def close(self) -> None:
        """Close every connection at rest."""
        self._drivers[""].close()


class Transaction:
    """One open transaction on a connection of the pool, which it keeps until it ends."""

    def __init__(self, driver: Driver) -> None:
        """Begin."""
        self._loan = ExitStack()
        connection = self._loan.enter_context(driver.connect())
        self.raw: Any = connection.raw
        if driver.sql.dialect is Dialect.POSTGRES:
            self.raw.autocommit = False
            self._loan.callback(self._restore)
        else:
            connection.fetch(driver.sql.statement("transaction_begin_deferred"))

    def _restore(self) -> None:
        with suppress(psycopg.Error):
            self.raw.rollback()
            self.raw.autocommit = True

    def end(self, commit: bool) -> None:
        """Commit or roll back, and give the connection back; raises CodedError when that fails."""
        with self._loan, _refusals():
            if commit:
                self.raw.commit()
            else:
                self.raw.rollback()


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (psycopg.Error, *SQLITE_ERRORS) as error:
        raise rejected(f"the transaction did not end as asked: {error}") from error


def open_database(environment: Mapping[str, str]) -> Database:
    """Return the database that the suite's environment names; raises ConfigurationError."""
    kind = environment.get("RIVER_CONFORMANCE_DRIVER", "")
    url = environment.get("RIVER_CONFORMANCE_DATABASE_URL", "")
    if not url:
        raise ConfigurationError("RIVER_CONFORMANCE_DATABASE_URL is not set")
    if kind == Dialect.SQLITE:
        return Database(SqliteDriver(url))
    if kind != Dialect.POSTGRES:
        raise ConfigurationError(f"RIVER_CONFORMANCE_DRIVER is postgres or sqlite, not {kind!r}")
    name = environment.get("RIVER_CONFORMANCE_APPLICATION_NAME")
    conninfo = make_conninfo(url, application_name=name) if name else url
    return Database(PsycopgDriver(conninfo, max_size=MAX_POOLED, check_when_idle_for=0.0))
