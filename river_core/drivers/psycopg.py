"""Postgres through psycopg 3: our own connections, the caller's, and one that listens."""

from __future__ import annotations

import select
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from functools import partial
from typing import Any

import psycopg
from psycopg import IsolationLevel
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from river_core import ambient
from river_core.db.statement import Sql, Statement
from river_core.drivers.base import Connection, Row
from river_core.drivers.borrowed import POSTGRES, Borrowed, ambient_connection, borrow
from river_core.drivers.copying import copy_in
from river_core.drivers.learned import LearnedSql, OtherSchema
from river_core.drivers.pool import Pool
from river_core.drivers.psycopg_adopted import (
    AdoptedConnection,
    check_usable,
    is_same_address,
    parameters_of,
)
from river_core.drivers.psycopg_errors import READ_ONLY, query, wrapped
from river_core.drivers.psycopg_listener import PsycopgListener
from river_core.drivers.psycopg_prepared import PreparedStatements
from river_core.drivers.psycopg_session import OwnSession, run_again, take_facts, was_rolled_back
from river_core.errors import ConfigurationError, OperationalError, OtherDatabaseError

CHECK_WHEN_IDLE_FOR = 30.0
"""Seconds after which an idle connection is asked whether it still answers before it is used."""

SESSION_DEFAULTS: dict[str, Any] = {
    "application_name": "river",
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}

MAX_CONNECTIONS = 16
"""Opened as they are needed: a busy worker uses about four, a client one for each thread that inserts."""


class OwnConnection:
    """A connection of our pool, in autocommit mode; statements that run often are prepared."""

    copies = True

    def __init__(self, raw: OwnSession) -> None:
        """Wrap an open connection."""
        self.raw = raw

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self.raw.pgconn.transaction_status != TransactionStatus.IDLE

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows.

        On its own it runs again, a few times, where the server undid it because of another transaction.
        """
        if self.raw.begins_itself and statement.transactional and not self.in_transaction:
            return run_again(lambda: self._fetch_in_transaction(statement))
        try:
            return self._fetch(statement)
        except OperationalError as error:
            if self.in_transaction or not was_rolled_back(error):
                raise
        return run_again(lambda: self._fetch(statement))

    def _fetch_in_transaction(self, statement: Statement) -> list[Row]:
        with self.transaction():
            return self._fetch(statement)

    def _fetch(self, statement: Statement) -> list[Row]:
        try:
            if statement.data is not None:
                copy_in(self.raw.cursor(), statement.sql, statement.data)
                return []
            prepared = self.raw.prepared
            if prepared is not None:
                if prepared.takes(statement):
                    return prepared.fetch(statement)
                if not statement.transactional:
                    prepared.forget()
            cursor = self.raw.execute(query(statement.sql), statement.parameters, prepare=False)
            result = cursor.pgresult
            return cursor.fetchall() if result is not None and result.nfields else []
        except (psycopg.Error, UnicodeError) as error:
            raise wrapped(error, self.raw) from error

    @property
    def overlaps(self) -> bool:
        """Whether `fetch_each` can be used; a pooler between may not know pipelines."""
        return psycopg.Pipeline.is_supported() and self.raw.prepare_threshold is not None

    def fetch_each(self, statements: Iterable[Statement]) -> list[list[Row]]:
        """Run statements in one transaction, and return the rows of each.

        The next one is taken from the iterable while the server works at those before; what that raises, or
        an error of the database, undoes all.
        """
        try:
            with self.raw.pipeline(), self.raw.transaction():
                cursors = [self._send(statement) for statement in statements]
            return [cursor.fetchall() for cursor in cursors]
        except psycopg.Error as error:
            raise wrapped(error, self.raw) from error

    def _send(self, statement: Statement) -> psycopg.Cursor[Any]:
        try:
            return self.raw.execute(query(statement.sql), statement.parameters, prepare=True)
        except UnicodeError as error:
            raise wrapped(error, self.raw) from error

    def run_script(self, sql: str) -> None:
        """Run several statements that take no parameters."""
        try:
            self.raw.execute(sql.encode())
        except psycopg.Error as error:
            raise wrapped(error, self.raw) from error
        finally:
            if self.raw.prepared is not None:
                self.raw.prepared.forget()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit at the end of the block, roll back on an exception; an inner block joins the outer one."""
        if self.in_transaction:
            yield
            return
        try:
            with self.raw.transaction():
                yield
        except psycopg.Error as error:
            raise wrapped(error, self.raw) from error


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
        self._pool: Pool[OwnSession, OwnConnection] = Pool(
            self._open,
            psycopg.Connection.close,
            OwnConnection,
            partial(_is_usable, check_when_idle_for),
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

    def _open(self) -> OwnSession:
        raw = self._connected(self._conninfo)
        try:
            if raw.info.parameter_status("TimeZone") != "UTC":
                OwnConnection(raw).fetch(self.sql.statement("session_timezone_utc"))
            take_facts(raw, OwnConnection(raw).fetch(self.sql.statement("session_facts"))[0])
            if raw.prepare_threshold is not None:
                raw.prepared = PreparedStatements(raw)
            self.learned.learn(OwnConnection(raw).fetch)
        except BaseException:
            raw.close()
            raise
        return raw

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


def complete_conninfo(conninfo: str, connect_timeout: float) -> str:
    """Add what every session of ours has; raises ConfigurationError for a malformed string."""
    try:
        given = conninfo_to_dict(conninfo)
    except psycopg.Error:
        # libpq's own words quote the string, password included, so they are not repeated.
        raise ConfigurationError(
            "the Postgres connection string cannot be read; in a URL, special characters of the password are "
            "written as %-codes (urllib.parse.quote)"
        ) from None
    defaults = {**SESSION_DEFAULTS, "connect_timeout": max(2, int(connect_timeout))}
    return make_conninfo(conninfo, **{name: value for name, value in defaults.items() if name not in given})


def other_database(raw: Any, conninfo: str) -> OtherDatabaseError:
    """Return the error that names both databases."""
    theirs, ours = _described(parameters_of(raw)), _described(conninfo_to_dict(conninfo))
    return OtherDatabaseError(
        f"the joined connection is to database {theirs}, but River lives in {ours}; join a "
        "connection to that database, or insert with enqueue='own' to use a transaction of our own"
    )


def _described(parameters: dict[str, Any]) -> str:
    host, port = parameters.get("host") or "the default host", parameters.get("port") or "the default port"
    return f"{parameters.get('dbname') or 'of the default name'!s} on {host}, {port}"


def _is_read_only(error: BaseException) -> bool:
    """Tell whether the server takes no writes; the address may lead to another one by now."""
    return isinstance(error, OperationalError) and error.sqlstate == READ_ONLY


def _is_usable(check_when_idle_for: float, raw: OwnSession, idle_seconds: float | None) -> bool:
    """Tell whether a connection may be lent: idle, and nothing unread, as a server's farewell is.

    One that comes back, without idle seconds, is looked at more closely before it is lent again.
    """
    if raw.closed or raw.pgconn.transaction_status != TransactionStatus.IDLE:
        return False
    if idle_seconds is None:
        return True
    if idle_seconds < check_when_idle_for and not is_readable(raw.fileno()):
        return True
    try:
        raw.execute(b"")
    except psycopg.Error:
        return False
    return True


def is_readable(descriptor: int) -> bool:
    """Tell whether a connection has unread input, as a server's farewell is."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
