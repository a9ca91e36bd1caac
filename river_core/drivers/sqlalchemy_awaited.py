"""SQLAlchemy's AsyncSession and AsyncConnection, borrowed for awaited statements in their transaction."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_session
from sqlalchemy.orm import Session

from river_core.db.statement import Statement
from river_core.drivers.base import AwaitedConnection, Row
from river_core.drivers.borrowed import POSTGRES, borrow

_TAKEN = "psycopg.AsyncConnection"


class AwaitedSession:
    """An async session or connection that belongs to the caller."""

    copies = False

    def __init__(self, target: AsyncSession | AsyncConnection) -> None:
        """Take the caller's object, whose transaction is open or begins with the first statement."""
        self._target = target

    async def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows."""
        return await self._target.run_sync(lambda sync: borrow(sync, POSTGRES, _TAKEN).fetch(statement))

    async def library_connection(self) -> Any:
        """Return the connection of the database's own library."""
        return await self._target.run_sync(lambda sync: borrow(sync, POSTGRES, _TAKEN).library_connection)

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Do nothing: the caller's transaction decides."""
        return nullcontext()


class BlockingSession:
    """A session that blocks, used from a coroutine as its owner does."""

    copies = False

    def __init__(self, fetch: Callable[[Statement], list[Row]]) -> None:
        """Take what runs a statement."""
        self._fetch = fetch

    async def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement, blocking the event loop, and return its rows."""
        return self._fetch(statement)

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """Do nothing: the caller's transaction decides."""
        return nullcontext()


async def adopt(raw: Any) -> tuple[AwaitedConnection, Any]:
    """Return an awaited connection and the database library's one below it; raises as `borrow` does."""
    target = async_session(raw) if isinstance(raw, Session) and async_session(raw) is not None else raw
    if isinstance(target, AsyncSession | AsyncConnection):
        awaited = AwaitedSession(target)
        return awaited, await awaited.library_connection()
    borrowed = borrow(target, POSTGRES, _TAKEN)
    return BlockingSession(borrowed.fetch), borrowed.library_connection
