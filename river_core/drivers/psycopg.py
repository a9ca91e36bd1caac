"""Postgres through psycopg 3: our own connections, the caller's, and one that listens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from copy import copy
from functools import partial
from typing import Any

import psycopg
from psycopg import IsolationLevel
from psycopg.rows import tuple_row

from river_core import ambient
from river_core.db.statement import Sql
from river_core.drivers.base import Connection, Row
from river_core.drivers.borrowed import POSTGRES, Borrowed, ambient_connection, borrow
from river_core.drivers.learned import LearnedSql, OtherSchema
from river_core.drivers.pool import Pool
from river_core.drivers.psycopg_adopted import AdoptedConnection, check_usable, is_same_address
from river_core.drivers.psycopg_connection import OwnConnection
from river_core.drivers.psycopg_conninfo import complete_conninfo, other_database
from river_core.drivers.psycopg_errors import READ_ONLY, wrapped
from river_core.drivers.psycopg_idle import CHECK_WHEN_IDLE_FOR, is_usable
from river_core.drivers.psycopg_listener import PsycopgListener
from river_core.drivers.psycopg_session import OwnSession, take_facts
from river_core.errors import OperationalError

MAX_CONNECTIONS = 16
"""Opened as they are needed: a busy worker uses about four, a client one for each thread that inserts."""


class PsycopgDriver:
    """River's schema in one Postgres database."""

    def __init__(
        self,
        conninfo: str,
        *,
        schema: str = "",
        max_size: int = MAX_CONNECTIONS,
        connect_timeout: float = 4.0,
        listen_url: str | None = None,
        check_when_idle_for: float = CHECK_WHEN_IDLE_FOR,
    ) -> None:
        """Take a URL or a libpq connection string; nothing connects yet.

        `listen_url` leads to the same database without a pooler between, for the one connection that
        listens. `connect_timeout` limits, in seconds, both connecting and waiting for one of the
        `max_size` connections; `check_when_idle_for` says after how many seconds of rest one is asked
        whether it still answers before it is used. Raises ConfigurationError for a malformed string or
        schema.
        """
        self.learned: LearnedSql | OtherSchema = LearnedSql(schema)
        self._conninfo = complete_conninfo(conninfo, connect_timeout)
        self._listen_conninfo = (
            complete_conninfo(listen_url, connect_timeout) if listen_url else self._conninfo
        )
        self._identity: Row | None = None
        self._pool: Pool[OwnConnection] = Pool(
            self._open,
            lambda connection: connection.raw.close(),
            partial(is_usable, check_when_idle_for),
            max_size,
            connect_timeout,
            _is_read_only,
        )

    @property
    def sql(self) -> Sql:
        """The statements of this driver's schema; those of the very server once it is connected to."""
        return self.learned.sql

    def in_schema(self, schema: str) -> PsycopgDriver:
        """Return a driver of another schema on the same connections; closing either closes them."""
        other = copy(self)
        other.learned = OtherSchema(schema, self.learned)
        return other

    def connect(self) -> AbstractContextManager[OwnConnection]:
        """Lend a connection of the pool; raises OperationalError when the database cannot be reached."""
        return self._pool.borrow()

    def ambient(self) -> AdoptedConnection | Borrowed | None:
        """Adopt the connection given to `river_core.join`, or a watched one, if any."""
        return ambient_connection(self.adopt)

    def open_transaction(self) -> Any:
        """Return what is joined or watched around the call, whichever database it is on, or None."""
        return ambient.open_transaction()

    def adopt(self, raw: Any) -> AdoptedConnection | Borrowed:
        """Return the caller's connection, ready for statements inside its transaction.

        Takes a psycopg connection, or one of SQLAlchemy or Django. Raises AmbientTransactionError when
        it is of another library, closed, aborted or connected to another database.
        """
        adopted: AdoptedConnection | Borrowed
        if isinstance(raw, psycopg.Connection):
            check_usable(raw)
            adopted = AdoptedConnection(raw)
            library_connection = raw
        else:
            adopted = borrow(raw, POSTGRES, "psycopg.Connection")
            library_connection = adopted.library_connection
            if isinstance(library_connection, psycopg.Connection | psycopg.AsyncConnection):
                check_usable(library_connection)
        if not is_same_address(self._conninfo, library_connection):
            self._check_identity(adopted, library_connection)
        self.learned.learn(adopted.fetch)
        return adopted

    @property
    def is_connected(self) -> bool:
        """Whether connections of our own are open."""
        return self._pool.is_used

    def listen(self, topics: Sequence[str]) -> PsycopgListener:
        """Open a connection that hears `topics`; raises OperationalError, also where nothing notifies."""
        raw = self._connected(self._listen_conninfo)
        try:
            self.learned.learn(OwnConnection(raw).fetch)
            if not self.sql.server.notifies:
                raise OperationalError("this YugabyteDB has LISTEN and NOTIFY switched off; poll instead")
        except BaseException:
            raw.close()
            raise
        return PsycopgListener(raw, self.sql, topics)

    def close(self) -> None:
        """Close the pool; harmless twice."""
        self._pool.close()

    def _open(self) -> OwnConnection:
        raw = self._connected(self._conninfo)
        connection = OwnConnection(raw)
        try:
            if raw.info.parameter_status("TimeZone") != "UTC":
                connection.fetch(self.sql.statement("session_timezone_utc"))
            take_facts(raw, connection.fetch(self.sql.statement("session_facts"))[0])
            connection.start_preparing()
            self.learned.learn(connection.fetch)
        except BaseException:
            raw.close()
            raise
        return connection

    def _connected(self, conninfo: str) -> OwnSession:
        try:
            raw = OwnSession.connect(conninfo, autocommit=True, row_factory=tuple_row)
            raw.isolation_level = IsolationLevel.READ_COMMITTED
        except (psycopg.Error, UnicodeError) as error:
            raise wrapped(error) from error
        return raw

    def _check_identity(self, adopted: Connection, library_connection: Any) -> None:
        """Ask both servers who they are: one database has many addresses (a pooler, a socket, a name)."""
        statement = self.sql.statement("session_database_identity")
        if self._identity is None:
            with self.connect() as own:
                self._identity = own.fetch(statement)[0]
        if tuple(adopted.fetch(statement)[0]) != tuple(self._identity):
            raise other_database(library_connection, self._conninfo)


def _is_read_only(error: BaseException) -> bool:
    """Tell whether the server takes no writes; the address may lead to another one by now."""
    return isinstance(error, OperationalError) and error.sqlstate == READ_ONLY
