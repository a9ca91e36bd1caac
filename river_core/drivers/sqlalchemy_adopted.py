"""A connection of SQLAlchemy, borrowed for statements inside its own transaction.

Statements go through SQLAlchemy itself, so every database library that it drives will do, awaited ones
inside `run_sync` too. Nothing here commits, rolls back or opens a savepoint.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_session
from sqlalchemy.orm import Session, scoped_session
from sqlalchemy.util.concurrency import in_greenlet

from river_core.db.statement import Dialect, Sql, Statement, as_named
from river_core.drivers import sqlite_json
from river_core.drivers.base import Row
from river_core.drivers.borrowed import SQLITE, is_transactional, plain_row, wrapped
from river_core.drivers.copying import can_copy, copy_in
from river_core.drivers.sqlite_adopted import begin_statement
from river_core.errors import AmbientTransactionError, AwaitedTransactionError, DatabaseError

_SQLITE = Sql(Dialect.SQLITE)


class SqlAlchemyConnection:
    """A connection that belongs to the caller's Session or is the caller's Connection."""

    def __init__(self, connection: Connection) -> None:
        """Wrap an open connection; on SQLite add the JSON functions that an older library lacks."""
        self.raw = connection
        if self.vendor == SQLITE:
            self._provide_json()

    @property
    def vendor(self) -> str:
        """SQLAlchemy's name of the database, without the library's."""
        return self.raw.dialect.name

    @property
    def library_connection(self) -> Any:
        """The connection of the database's own library."""
        return self.raw.connection.driver_connection

    @property
    def in_transaction(self) -> bool:
        """Whether the next statement belongs to a transaction: not with an AUTOCOMMIT engine."""
        return is_transactional(self.library_connection)

    @property
    def copies(self) -> bool:
        """Whether the library below reads COPY data here; an awaited one does not."""
        return can_copy(self.library_connection)

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows."""
        if statement.data is not None:
            return self._copy(statement.sql, statement.data)
        try:
            result = self.raw.execute(text(as_named(statement.sql)), dict(statement.parameters))
            return [plain_row(row) for row in result] if result.returns_rows else []
        except (DBAPIError, UnicodeError, OverflowError) as error:
            raise wrapped(error, self.library_connection) from error
        except SQLAlchemyError as error:
            raise _unusable(error) from error

    def _copy(self, sql: str, data: str) -> list[Row]:
        """Copy below SQLAlchemy, once it knows that its transaction has begun, so that it commits it."""
        self.fetch(Sql(Dialect.POSTGRES).statement("ping"))
        try:
            with self.library_connection.cursor() as cursor:
                copy_in(cursor, sql, data)
        except Exception as error:
            raise wrapped(error) from error
        return []

    def run_script(self, sql: str) -> None:
        """Refuse: a script could end the caller's transaction."""
        raise AmbientTransactionError("a script cannot run on a joined connection; run it on one of our own")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """On SQLite begin as the sqlite3 module does before a change, where it would; the caller ends it."""
        begin = begin_statement(self.library_connection, _SQLITE) if self.vendor == SQLITE else None
        if begin is not None:
            self.fetch(begin)
        yield

    def _provide_json(self) -> None:
        try:
            self.fetch(_SQLITE.statement("session_has_jsonb"))
        except DatabaseError:
            sqlite: Any = self.raw.connection.dbapi_connection
            try:
                sqlite_json.register(sqlite)
            except sqlite3.Error as error:
                raise AmbientTransactionError(
                    f"the JSON functions could not be added to the joined connection ({error}); finish "
                    "reading its open results first"
                ) from error


def adopt(raw: Any) -> SqlAlchemyConnection | None:
    """Return the connection of a Session or Connection, or None for another object of SQLAlchemy's.

    Raises AwaitedTransactionError for one that must be awaited, AmbientTransactionError for one that
    cannot be used.
    """
    target = sync_target(raw)
    if not isinstance(target, Session | Connection):
        return None
    try:
        connection = target.connection() if isinstance(target, Session) else target
        if connection.closed:
            raise AmbientTransactionError("the joined connection is closed; join one that is open")
        return SqlAlchemyConnection(connection)
    except DBAPIError as error:
        raise wrapped(error) from error
    except SQLAlchemyError as error:
        raise _unusable(error) from error


def sync_target(raw: Any) -> Any:
    """Return the Session or Connection behind a scoped or async one.

    Raises AwaitedTransactionError for an async one outside `run_sync`: its statements are awaited.
    """
    target = raw() if isinstance(raw, scoped_session) else raw
    if isinstance(target, AsyncSession):
        target = target.sync_session
    elif isinstance(target, AsyncConnection):
        target = target.sync_connection
    if is_awaited(target) and not in_greenlet():
        raise AwaitedTransactionError(target)
    return target


def is_awaited(target: Any) -> bool:
    """Tell whether the statements of a Session or Connection are run by an event loop."""
    if isinstance(target, Session):
        return async_session(target) is not None
    return isinstance(target, Connection) and bool(target.dialect.is_async)


def _unusable(error: SQLAlchemyError) -> AmbientTransactionError:
    return AmbientTransactionError(f"the joined session or connection cannot take this insert: {error}")
