"""The caller's aiosqlite connection, borrowed for awaited statements inside its own transaction.

aiosqlite drives the standard library's sqlite3, so it is the same SQLite library as ours.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from river_core.db.statement import Sql, Statement
from river_core.drivers import sqlite_json
from river_core.drivers.base import Row, type_name
from river_core.drivers.sqlite_adopted import begin_statement
from river_core.drivers.sqlite_errors import SQLITE_ERRORS, wrapped
from river_core.errors import AmbientTransactionError, DatabaseError


class AdoptedAiosqlite:
    """A connection that belongs to the caller."""

    copies = False

    def __init__(self, raw: Any, sql: Sql) -> None:
        """Wrap a connection that `adopt_aiosqlite` has made ready."""
        self.raw = raw
        self._sql = sql

    async def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement with a cursor of our own and return its rows as tuples."""
        try:
            cursor = await self.raw.cursor()
            cursor.row_factory = None
            try:
                await cursor.execute(statement.sql, statement.parameters)
                return list(await cursor.fetchall())
            finally:
                await cursor.close()
        except SQLITE_ERRORS as error:
            raise wrapped(error) from error

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Begin as the sqlite3 module does before a change, where it would; the caller ends it."""
        begin = begin_statement(self.raw, self._sql)
        if begin is not None:
            await self.fetch(begin)
        yield


async def adopt_aiosqlite(raw: Any, sql: Sql) -> AdoptedAiosqlite:
    """Return the connection with the JSON functions that an older SQLite lacks.

    Raises AmbientTransactionError for another object of the library, a closed connection, and where it is
    too late to add the functions.
    """
    if not hasattr(raw, "create_function"):
        raise AmbientTransactionError(f"give aiosqlite's Connection, not {type_name(raw)}")
    adopted = AdoptedAiosqlite(raw, sql)
    try:
        await adopted.fetch(sql.statement("session_has_jsonb"))
        return adopted
    except ValueError as error:
        raise AmbientTransactionError(f"the joined connection cannot be used: {error}") from error
    except DatabaseError:
        pass
    functions = _Functions()
    sqlite_json.register(functions)  # type: ignore[arg-type] # it is asked for create_function alone
    try:
        for arguments, options in functions.given:
            await raw.create_function(*arguments, **options)
    except SQLITE_ERRORS as error:
        raise AmbientTransactionError(
            f"the JSON functions could not be added to the joined connection ({error}); finish reading its "
            "open cursors first"
        ) from error
    return adopted


class _Functions:
    """Notes which functions a connection is to be given."""

    def __init__(self) -> None:
        self.given: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def create_function(self, *arguments: Any, **options: Any) -> None:
        self.given.append((arguments, options))
