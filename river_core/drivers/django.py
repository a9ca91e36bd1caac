"""River's schema in the database of a Django alias.

Inserts join the alias's open transaction: `atomic` blocks and their savepoints, ATOMIC_REQUESTS, TestCase.
Outside one, and for workers, connections of our own are used, made from the alias's settings.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.utils.connection import ConnectionProxy
from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo

from river_core import ambient
from river_core.db.statement import Dialect, Sql
from river_core.drivers import sqlite_json
from river_core.drivers.base import Connection, Driver, Listener
from river_core.drivers.borrowed import POSTGRES, SQLITE, ambient_connection
from river_core.drivers.django_adopted import DjangoConnection, has_open_transaction
from river_core.drivers.learned import LearnedSql
from river_core.drivers.psycopg import PsycopgDriver
from river_core.drivers.sqlite import SqliteDriver
from river_core.errors import ConfigurationError, OtherDatabaseError


class DjangoDriver:
    """A driver for an alias of Django's DATABASES on Postgres or SQLite.

    Where only other aliases have a transaction open, rows are inserted after the commit of one of them,
    with one warning in the log.
    """

    def __init__(self, alias: str = "default", *, schema: str = "", listen_url: str | None = None) -> None:
        """Take the alias that holds River's schema; nothing connects yet.

        Where the alias leads to a pooler, `listen_url` leads past it, for the one connection that listens.

        Raises ConfigurationError for an alias that does not exist or is on another kind of database.
        """
        if alias not in connections:
            raise ConfigurationError(f"there is no database {alias!r} in Django's DATABASES")
        vendor = connections[alias].vendor
        if vendor not in (POSTGRES, SQLITE):
            raise ConfigurationError(f"the alias {alias!r} is on {vendor}; River lives on Postgres or SQLite")
        self._alias = alias
        self._listen_url = listen_url
        self._sqlite = Sql(Dialect.SQLITE, schema) if vendor == SQLITE else None
        self._learned = LearnedSql(schema)
        self._lock = threading.Lock()
        self._own: Driver | None = None
        self._target: str | None = None
        if vendor == SQLITE:
            provide_json_functions()

    @property
    def alias(self) -> str:
        """The alias that holds River's schema."""
        return self._alias

    @property
    def sql(self) -> Sql:
        """The statements of the alias's dialect; on Postgres those of its server once that is known."""
        return self._sqlite or self._learned.sql

    def connect(self) -> AbstractContextManager[Connection]:
        """Lend a connection of our own; raises OperationalError when the database cannot be reached."""
        if self._is_in_memory():
            return nullcontext(DjangoConnection(self._alias))
        driver = self._driver()
        return _kept_by_nobody(driver) if _tests_run() else driver.connect()

    def ambient(self) -> Connection | None:
        """Adopt what was given to `river_core.join`, or a watched session, or the alias's open transaction.

        Raises OtherDatabaseError where only another alias, or a session on another database, has one open.
        """
        try:
            found = ambient_connection(self.adopt)
        except OtherDatabaseError:
            if ambient.joined() is not None or not has_open_transaction(self._alias):
                raise
            found = None
        if found is not None:
            return found
        if has_open_transaction(self._alias):
            return self._adopt_own()
        self._refuse_other_alias()
        return None

    def open_transaction(self) -> Any:
        """Return what is joined or watched, else the connection of an alias with an open transaction."""
        found = ambient.open_transaction()
        if found is not None:
            return found
        alias = self._alias if has_open_transaction(self._alias) else self._other_alias()
        return None if alias is None else connections[alias]

    def adopt(self, raw: Any) -> Connection:
        """Adopt a connection; this alias's own is taken as it is."""
        if isinstance(raw, BaseDatabaseWrapper | ConnectionProxy) and raw.alias == self._alias:
            return self._adopt_own()
        return self._driver().adopt(raw)

    def _adopt_own(self) -> DjangoConnection:
        adopted = DjangoConnection(self._alias)
        if self._sqlite is None:
            self._learned.learn(adopted.fetch_unseen)
        return adopted

    @property
    def is_connected(self) -> bool:
        """Whether connections of our own are open, besides Django's."""
        return self._own is not None and self._own.is_connected

    def listen(self, topics: Sequence[str]) -> Listener:
        """Open a listener of our own; raises ConfigurationError for a database in memory."""
        return self._driver().listen(topics)

    def close(self) -> None:
        """Close the connections of our own; Django's stay."""
        with self._lock:
            own, self._own, self._target = self._own, None, None
        if own is not None:
            own.close()

    def _driver(self) -> Driver:
        """Return the driver for where the alias leads now: Django's test runner changes that."""
        wrapper = connections[self._alias]
        target = _conninfo(wrapper) if self._sqlite is None else _sqlite_path(wrapper)
        if target != self._target:
            self.close()
        with self._lock:
            if self._own is None:
                self._target = target
                self._own = self._open(target)
            return self._own

    def _open(self, target: str) -> Driver:
        if self._sqlite is None:
            driver = PsycopgDriver(target, schema=self.sql.schema, listen_url=self._listen_url)
            driver.learned = self._learned
            return driver
        if self._is_in_memory():
            raise ConfigurationError(
                f"the alias {self._alias!r} is a database in memory, which only Django's own connection "
                "reaches; name a file"
            )
        return SqliteDriver(target)

    def _is_in_memory(self) -> bool:
        """Tell whether only Django's own connection reaches the database, as in most test runs on SQLite."""
        wrapper: Any = connections[self._alias]
        return self._sqlite is not None and bool(wrapper.is_in_memory_db())

    def _refuse_other_alias(self) -> None:
        other = self._other_alias()
        if other is not None:
            raise OtherDatabaseError(
                f"the alias {other!r} has a transaction open, but River lives in {self._alias!r}; insert "
                "with enqueue='after_commit' to do it after that commit, or with enqueue='own' to do it now"
            )

    def _other_alias(self) -> str | None:
        return next((alias for alias in connections if has_open_transaction(alias)), None)


def provide_json_functions() -> None:
    """Let connections to SQLite read River's JSON, where the library is too old to; harmless twice."""
    connection_created.connect(_register_json)


def _register_json(connection: Any, **_others: Any) -> None:
    """Make every new SQLite connection read River's JSON, where the library is too old to."""
    if connection.vendor == SQLITE:
        sqlite_json.register(connection.connection)


@contextmanager
def _kept_by_nobody(driver: Driver) -> Iterator[Connection]:
    """Lend a connection that is closed afterwards: Django drops a test database only if nobody is on it."""
    with driver.connect() as connection:
        yield connection
    driver.close()


def _tests_run() -> bool:
    """Whether Django's test environment is set up in this process."""
    utils = sys.modules.get("django.test.utils")
    return utils is not None and hasattr(getattr(utils, "_TestState", None), "saved_data")


def _conninfo(wrapper: Any) -> str:
    """Return what libpq understands of an alias's parameters; the rest is Django's."""
    known = {option.keyword.decode() for option in Conninfo.get_defaults()} - {"client_encoding"}
    parameters = wrapper.get_connection_params()
    return make_conninfo("", **{name: value for name, value in parameters.items() if name in known})


def _sqlite_path(wrapper: Any) -> str:
    return str(wrapper.settings_dict["NAME"])
