"""Postgres through psycopg's AsyncConnection: a few connections of our own, and the caller's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

import psycopg
from psycopg import IsolationLevel
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from river_core.db.statement import Sql, Statement
from river_core.drivers.async_pool import AsyncPool
from river_core.drivers.base import AwaitedConnection, Row
from river_core.drivers.borrowed import POSTGRES, ambient_awaited, borrow_awaited
from river_core.drivers.learned import LearnedSql
from river_core.drivers.psycopg_adopted import UtcLoader, check_usable, is_same_address
from river_core.drivers.psycopg_conninfo import complete_conninfo, other_database
from river_core.drivers.psycopg_errors import READ_ONLY, query, wrapped
from river_core.drivers.psycopg_prepared import OVER
from river_core.drivers.psycopg_session import (
    OwnAwaitedSession,
    run_awaited_again,
    take_facts,
    was_rolled_back,
)
from river_core.errors import OperationalError

MAX_CONNECTIONS = 4


class OwnAwaitedConnection:
    """A connection of our own, in autocommit mode."""

    copies = True

    def __init__(self, raw: OwnAwaitedSession) -> None:
        """Wrap an open connection."""
        self.raw = raw

    async def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows.

        On its own it runs again, a few times, where the server undid it because of another transaction.
        """
        if self.raw.pgconn.transaction_status != TransactionStatus.IDLE:
            return await self._fetch(statement)
        run = self._fetch_in_transaction if self.raw.begins_itself else self._fetch
        try:
            return await run(statement)
        except OperationalError as error:
            if not was_rolled_back(error):
                raise
        return await run_awaited_again(lambda: run(statement))

    async def _fetch_in_transaction(self, statement: Statement) -> list[Row]:
        async with self.transaction():
            return await self._fetch(statement)

    async def _fetch(self, statement: Statement) -> list[Row]:
        try:
            return await self._run(statement)
        except (psycopg.Error, UnicodeError) as error:
            raise wrapped(error, self.raw) from error

    async def _run(self, statement: Statement) -> list[Row]:
        if statement.data is not None:
            return await _copy_in(self.raw.cursor(), statement.sql, statement.data)
        try:
            return await self._execute(statement)
        except OVER:
            if self.raw.pgconn.transaction_status != TransactionStatus.IDLE:
                raise  # the rollback makes psycopg forget what it has prepared
            await self.raw.execute(b"DEALLOCATE ALL", prepare=False)  # and so does this
        return await self._execute(statement)

    async def _execute(self, statement: Statement) -> list[Row]:
        cursor = await self.raw.execute(query(statement.sql), statement.parameters)
        return list(await cursor.fetchall()) if cursor.description else []

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Commit at the end of the block, roll back on an exception."""
        try:
            async with self.raw.transaction():
                yield
        except psycopg.Error as error:
            raise wrapped(error, self.raw) from error


class AdoptedAwaitedConnection:
    """A connection that belongs to the caller."""

    copies = True

    def __init__(self, raw: psycopg.AsyncConnection[Any]) -> None:
        """Wrap a connection that `check_usable` has passed."""
        self.raw = raw

    async def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement, unprepared, with a cursor of our own, and return its rows."""
        try:
            async with psycopg.AsyncCursor(self.raw, row_factory=tuple_row) as cursor:
                if statement.data is not None:
                    return await _copy_in(cursor, statement.sql, statement.data)
                cursor.adapters.register_loader("timestamptz", UtcLoader)
                await cursor.execute(query(statement.sql), statement.parameters, prepare=False, binary=False)
                return list(await cursor.fetchall()) if cursor.description else []
        except (psycopg.Error, UnicodeError) as error:
            raise wrapped(error, self.raw) from error

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Do nothing: the caller's transaction decides."""
        return nullcontext()


async def _copy_in(cursor: psycopg.AsyncCursor[Any], sql: str, data: str) -> list[Row]:
    async with cursor.copy(sql.encode()) as copy:
        await copy.write(data)
    return []


class PsycopgAsyncDriver:
    """River's schema in one Postgres database, for coroutines of one event loop at a time."""

    def __init__(
        self,
        conninfo: str,
        *,
        schema: str = "",
        max_size: int = MAX_CONNECTIONS,
        connect_timeout: float = 4.0,
    ) -> None:
        """Take a URL or a libpq connection string; nothing connects yet.

        `connect_timeout` limits, in seconds, both connecting and waiting for one of the `max_size`
        connections. Raises ConfigurationError for a malformed string or schema.
        """
        self._learned = LearnedSql(schema)
        self._conninfo = complete_conninfo(conninfo, connect_timeout)
        self._identity: Row | None = None
        self._pool = AsyncPool(self._open, max_size, connect_timeout)

    @property
    def sql(self) -> Sql:
        """The statements of this driver's schema; those of the very server once it is connected to."""
        return self._learned.sql

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[OwnAwaitedConnection]:
        """Lend a connection; raises OperationalError when the database cannot be reached."""
        async with self._pool.borrow() as raw:
            try:
                yield OwnAwaitedConnection(raw)
            except OperationalError as error:
                if error.sqlstate == READ_ONLY:
                    await raw.close()
                    await self._pool.close()  # the address may lead to a server that takes writes by now
                raise

    async def ambient(self) -> AwaitedConnection | None:
        """Adopt what was given to `river_core.join`, or a watched session, if any; raises as `adopt`."""
        return await ambient_awaited(self.adopt)

    async def adopt(self, raw: Any) -> AwaitedConnection:
        """Return the caller's connection, ready for statements inside its transaction.

        Takes a psycopg.AsyncConnection, or SQLAlchemy's AsyncSession or AsyncConnection. Raises
        AmbientTransactionError when it is of another library, closed, aborted or connected elsewhere.
        """
        adopted: AwaitedConnection
        if isinstance(raw, psycopg.AsyncConnection):
            check_usable(raw)
            adopted, library_connection = AdoptedAwaitedConnection(raw), raw
        else:
            adopted, library_connection = await borrow_awaited(raw, POSTGRES, "psycopg.AsyncConnection")
        if not is_same_address(self._conninfo, library_connection):
            await self._check_identity(adopted, library_connection)
        await self._learned.learn_awaited(adopted.fetch)
        return adopted

    async def close(self) -> None:
        """Close the connections that are not lent; harmless twice."""
        await self._pool.close()

    async def _open(self) -> OwnAwaitedSession:
        try:
            raw = await OwnAwaitedSession.connect(self._conninfo, autocommit=True, row_factory=tuple_row)
            await raw.set_isolation_level(IsolationLevel.READ_COMMITTED)
        except (psycopg.Error, UnicodeError) as error:
            raise wrapped(error) from error
        own = OwnAwaitedConnection(raw)
        try:
            if raw.info.parameter_status("TimeZone") != "UTC":
                await own.fetch(self.sql.statement("session_timezone_utc"))
            take_facts(raw, (await own.fetch(self.sql.statement("session_facts")))[0])
            await self._learned.learn_awaited(own.fetch)
        except BaseException:
            await raw.close()
            raise
        return raw

    async def _check_identity(self, adopted: AwaitedConnection, library_connection: Any) -> None:
        statement = self.sql.statement("session_database_identity")
        if self._identity is None:
            async with self.connect() as own:
                self._identity = (await own.fetch(statement))[0]
        if tuple((await adopted.fetch(statement))[0]) != tuple(self._identity):
            raise other_database(library_connection, self._conninfo)
