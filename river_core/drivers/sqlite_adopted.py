"""The caller's sqlite3 connection, borrowed for statements inside its own transaction.

Nothing here commits, rolls back or opens a savepoint.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from river_core.db.statement import Sql, Statement
from river_core.drivers import sqlite_json
from river_core.drivers.base import Connection, Row
from river_core.drivers.sqlite_errors import SQLITE_ERRORS, wrapped
from river_core.errors import AmbientTransactionError, DatabaseError

BEGIN_BY_LEVEL = {
    "": "transaction_begin_deferred",
    "DEFERRED": "transaction_begin_deferred",
    "IMMEDIATE": "transaction_begin_immediate",
    "EXCLUSIVE": "transaction_begin_exclusive",
}


class AdoptedConnection:
    """A connection that belongs to the caller."""

    copies = False

    def __init__(self, raw: sqlite3.Connection, sql: Sql) -> None:
        """Wrap a usable connection, adding the JSON functions that an older SQLite lacks."""
        self.raw = raw
        self._sql = sql
        provide_json(raw, sql)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, or `transaction` will open one."""
        return self.raw.in_transaction or begin_statement(self.raw, self._sql) is not None

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement with a cursor of our own and return its rows as tuples."""
        return _fetch(self.raw, statement)

    def run_script(self, sql: str) -> None:
        """Refuse: a script would end the caller's transaction."""
        raise AmbientTransactionError("a script cannot run on a joined connection; run it on one of our own")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin as the sqlite3 module does before a change, where it would; the caller ends it."""
        begin = begin_statement(self.raw, self._sql)
        if begin is not None:
            self.fetch(begin)
        yield


def provide_json(raw: sqlite3.Connection, sql: Sql) -> None:
    """Add the JSON functions that an older SQLite lacks; AmbientTransactionError where it is too late."""
    try:
        _fetch(raw, sql.statement("session_has_jsonb"))
        return
    except DatabaseError:
        pass
    try:
        sqlite_json.register(raw)
    except sqlite3.Error as error:
        raise AmbientTransactionError(
            f"the JSON functions could not be added to the joined connection ({error}); finish reading "
            "its open cursors first, or give the connection to river_core.drivers.sqlite_json.register "
            "when it is opened"
        ) from error


def begin_statement(raw: sqlite3.Connection, sql: Sql) -> Statement | None:
    """Return what begins a transaction where the sqlite3 module would before a change, else None."""
    level = raw.isolation_level
    if getattr(raw, "autocommit", None) is True:  # Python 3.12: the level counts for nothing then
        level = None
    if level is None or raw.in_transaction:
        return None
    return sql.statement(BEGIN_BY_LEVEL[level.upper()])


def check_usable(raw: sqlite3.Connection) -> None:
    """Raise AmbientTransactionError for a connection that is closed or belongs to another thread."""
    try:
        _ = raw.in_transaction
        raw.cursor().close()
    except sqlite3.ProgrammingError as error:
        raise AmbientTransactionError(f"the joined connection cannot be used: {error}") from error


def main_file(connection: Connection, sql: Sql) -> str:
    """Return the path of the file that a connection has open as `main`; empty for one in memory."""
    return main_file_of(connection.fetch(sql.statement("session_database_list")))


def main_file_of(rows: Sequence[Row]) -> str:
    """Return the same from the rows of that statement."""
    return next((str(row[2]) for row in rows if row[1] == "main"), "")


def _fetch(raw: sqlite3.Connection, statement: Statement) -> list[Row]:
    try:
        cursor = sqlite3.Cursor(raw)
        cursor.row_factory = None
        try:
            return cursor.execute(statement.sql, statement.parameters).fetchall()
        finally:
            cursor.close()
    except SQLITE_ERRORS as error:
        raise wrapped(error, raw) from error
