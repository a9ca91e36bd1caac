"""Django's connection of an alias, borrowed for statements inside its `atomic` blocks.

Statements go through Django's own cursor, so its query log, `assertNumQueries` and execute wrappers see
them. Nothing here commits, rolls back or opens a savepoint. Call it as Django's own database code: from a
coroutine through `sync_to_async(thread_sensitive=True)`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import timezone
from typing import Any

from django.core.exceptions import SynchronousOnlyOperation
from django.db import Error, connections, transaction

from river_core.db.statement import Dialect, Sql, Statement, as_pyformat
from river_core.drivers.base import Row
from river_core.drivers.borrowed import SQLITE, plain_row, wrapped
from river_core.drivers.copying import can_copy, copy_in
from river_core.drivers.psycopg_adopted import UtcLoader
from river_core.drivers.sqlite_adopted import provide_json
from river_core.errors import AmbientTransactionError

_SQLITE = Sql(Dialect.SQLITE)


class DjangoConnection:
    """The current thread's connection of an alias."""

    def __init__(self, alias: str) -> None:
        """Connect as Django does where it is not connected yet; on SQLite add the JSON functions.

        Raises AmbientTransactionError where the `atomic` block is to be rolled back already, and in a
        coroutine.
        """
        self.raw = connections[alias]
        if self.raw.in_atomic_block and self.raw.needs_rollback:
            raise AmbientTransactionError(
                f"the atomic block of {alias!r} has failed, so nothing can be inserted in it; leave it "
                "first, or insert with enqueue='own'"
            )
        try:
            self.raw.ensure_connection()
        except SynchronousOnlyOperation as error:
            raise AmbientTransactionError(
                "Django's connections cannot be used in a coroutine; call this through "
                "sync_to_async(…, thread_sensitive=True)"
            ) from error
        except Error as error:
            raise wrapped(error) from error
        if self.vendor == SQLITE:
            provide_json(self.library_connection, _SQLITE)

    @property
    def vendor(self) -> str:
        """Django's name of the database."""
        return str(self.raw.vendor)

    @property
    def library_connection(self) -> Any:
        """The connection of the database's own library."""
        return self.raw.connection

    @property
    def in_transaction(self) -> bool:
        """Whether the next statement belongs to a transaction."""
        return has_open_transaction(self.raw.alias)

    @property
    def copies(self) -> bool:
        """Whether the library below reads COPY data."""
        return can_copy(self.library_connection)

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows."""
        try:
            with self.raw.cursor() as cursor:
                if statement.data is not None:
                    return _copy(cursor, statement.sql, statement.data)
                _read_utc(cursor.cursor)
                cursor.execute(as_pyformat(statement.sql), dict(statement.parameters))
                return [plain_row(row) for row in cursor.fetchall()] if cursor.description else []
        except transaction.TransactionManagementError as error:
            raise AmbientTransactionError(
                f"the joined transaction cannot take this insert: {error}"
            ) from error
        except (Error, UnicodeError, OverflowError) as error:
            raise wrapped(error, self.library_connection) from error

    def fetch_unseen(self, statement: Statement) -> list[Row]:
        """Run a statement without parameters below Django: the application's query log is about its own."""
        try:
            with self.raw.wrap_database_errors, self.library_connection.cursor() as cursor:
                cursor.execute(statement.sql)
                return list(cursor.fetchall())
        except Error as error:
            raise wrapped(error) from error

    def run_script(self, sql: str) -> None:
        """Refuse: a script could end the caller's transaction."""
        raise AmbientTransactionError("a script cannot run on a joined connection; run it on one of our own")

    def transaction(self) -> AbstractContextManager[None]:
        """Do nothing: the caller's transaction decides."""
        return nullcontext()


def _copy(cursor: Any, sql: str, data: str) -> list[Row]:
    with cursor.db.wrap_database_errors:
        copy_in(cursor.cursor, sql, data)
    return []


def _read_utc(cursor: Any) -> None:
    """Make this one cursor of psycopg or psycopg2 give aware times, also where USE_TZ is off."""
    if hasattr(cursor, "adapters"):
        cursor.adapters.register_loader("timestamptz", UtcLoader)
    elif hasattr(cursor, "tzinfo_factory"):
        cursor.tzinfo_factory = timezone


class DjangoOwner:
    """An alias, whose `on_commit` calls back."""

    def __init__(self, alias: str) -> None:
        """Take the alias whose transaction is open."""
        self._alias = alias

    def before_commit(self, callback: Callable[[], object]) -> None:
        """Call back now: Django's statements need not wait."""
        callback()

    def after_commit(self, callback: Callable[[], object]) -> None:
        """Call back once the outermost atomic block is committed; not if it, or the savepoint, rolls back."""
        transaction.on_commit(callback, using=self._alias)


def has_open_transaction(alias: str) -> bool:
    """Tell whether the current thread has a transaction open on an alias."""
    wrapper = connections[alias]
    if wrapper.connection is None:
        return bool(wrapper.in_atomic_block)
    return bool(wrapper.in_atomic_block or not wrapper.get_autocommit())
