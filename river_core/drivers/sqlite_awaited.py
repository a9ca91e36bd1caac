"""SQLite for coroutines: our connections in a few threads, and the caller's, blocking or of aiosqlite.

All through the standard library's sqlite3: two SQLite libraries in one process corrupt a file.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from river_core.aside import Start, aside, start_thread
from river_core.db.statement import Sql, Statement
from river_core.drivers.base import AwaitedConnection, Row
from river_core.drivers.borrowed import SQLITE, ambient_awaited, library_of
from river_core.drivers.sqlite import OwnConnection, SqliteDriver
from river_core.drivers.sqlite_adopted import AdoptedConnection, check_usable, main_file_of
from river_core.errors import OperationalError

MAX_CONNECTIONS = 4

T = TypeVar("T")


class OwnAwaitedConnection:
    """A connection of our own, whose statements run in a thread."""

    copies = False

    def __init__(self, blocking: OwnConnection, start: Start) -> None:
        """Take the connection, and what calls in a thread."""
        self.raw = blocking.raw
        self._blocking = blocking
        self._start = start

    async def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows."""
        return await aside(lambda: self._blocking.fetch(statement), self._start)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Commit at the end of the block, roll back on an exception."""
        async with _entered(self._blocking.transaction(), self._start):
            yield


class BlockingConnection:
    """The caller's sqlite3 connection, used in its own thread, as its owner does."""

    copies = False

    def __init__(self, adopted: AdoptedConnection) -> None:
        """Take the adopted connection."""
        self.raw = adopted.raw
        self._adopted = adopted

    async def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement, blocking the event loop, and return its rows."""
        return self._adopted.fetch(statement)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Begin as the sqlite3 module does before a change; the caller ends it."""
        with self._adopted.transaction():
            yield


class SqliteAsyncDriver:
    """River's schema in one SQLite file, for coroutines of one event loop at a time."""

    def __init__(
        self, path: str | Path, *, busy_timeout: float = 5.0, max_size: int = MAX_CONNECTIONS
    ) -> None:
        """Take the file's path, or `:memory:`, as `SqliteDriver` does; nothing is opened yet.

        There are as many threads as connections, so one that waits for the file's writer keeps none
        from going on.
        """
        self._blocking = SqliteDriver(path, busy_timeout=busy_timeout, max_size=max_size)
        self._busy_timeout = busy_timeout
        self._max_size = max_size
        self._place: tuple[int, asyncio.AbstractEventLoop] | None = None
        self._free = asyncio.Semaphore(max_size)
        self._threads: ThreadPoolExecutor | None = None

    @property
    def sql(self) -> Sql:
        """The statements of this driver's dialect."""
        return self._blocking.sql

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[OwnAwaitedConnection]:
        """Lend a connection; raises OperationalError when the file cannot be opened, or none is free."""
        self._settle()
        free = self._free
        try:
            await asyncio.wait_for(free.acquire(), self._busy_timeout)
        except TimeoutError as error:
            raise OperationalError(f"no connection became free within {self._busy_timeout:g} s") from error
        try:
            async with _entered(self._blocking.connect(), self._start) as own:
                yield OwnAwaitedConnection(own, self._start)
        finally:
            free.release()

    def _settle(self) -> None:
        place = (os.getpid(), asyncio.get_running_loop())
        if place == self._place:
            return
        if self._place is None or self._place[0] != place[0]:
            self._threads = None  # a parent's threads do not exist in its child
        self._place = place
        self._free = asyncio.Semaphore(self._max_size)

    def _start(self, call: Callable[[], None]) -> None:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._max_size, thread_name_prefix="river-sqlite")
        self._threads.submit(call)

    async def ambient(self) -> AwaitedConnection | None:
        """Adopt what was given to `river_core.join`, or a watched session, if any; raises as `adopt`."""
        return await ambient_awaited(self.adopt)

    async def adopt(self, raw: Any) -> AwaitedConnection:
        """Return the caller's connection, ready for statements inside its transaction.

        Takes a connection of sqlite3 or aiosqlite, or an AsyncSession or AsyncConnection of SQLAlchemy.
        Raises AmbientTransactionError when it is of another library, closed, or has another file open.
        """
        adopted = await self._adopted(raw)
        rows = await adopted.fetch(self.sql.statement("session_database_list"))
        self._blocking.check_file(main_file_of(rows))
        return adopted

    async def _adopted(self, raw: Any) -> AwaitedConnection:
        library = library_of(raw, "sqlite3", "aiosqlite", "sqlalchemy")
        if library == "sqlite3":
            check_usable(raw)
            return BlockingConnection(AdoptedConnection(raw, self.sql))
        if library == "aiosqlite":
            from river_core.drivers.aiosqlite_adopted import adopt_aiosqlite  # only the library in use

            return await adopt_aiosqlite(raw, self.sql)
        from river_core.drivers.borrowed import borrow_awaited

        return (await borrow_awaited(raw, SQLITE, "sqlite3 or aiosqlite connection"))[0]

    async def close(self) -> None:
        """Close the connections; a database in memory is gone then. Harmless twice."""
        threads, self._threads = self._threads, None
        await aside(self._blocking.close, start_thread)
        if threads is not None:
            threads.shutdown(wait=False)


@asynccontextmanager
async def _entered(manager: AbstractContextManager[T], start: Start) -> AsyncIterator[T]:
    """Enter and leave a blocking context in a thread; it is left even if the entry was cancelled."""
    entered: list[T] = []
    try:
        await aside(lambda: entered.append(manager.__enter__()), start)
        yield entered[0]
    except BaseException as error:
        if entered:
            cause = (type(error), error, error.__traceback__)
            await aside(lambda: manager.__exit__(*cause), start)
        raise
    await aside(lambda: manager.__exit__(None, None, None), start)
