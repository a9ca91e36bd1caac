"""SQLAlchemy's AsyncSession and AsyncConnection, borrowed for awaited statements in their transaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_session
from sqlalchemy.orm import Session
from sqlalchemy.util import await_only

from river_core.db.statement import Statement
from river_core.drivers.base import AwaitedConnection, Row, type_name
from river_core.drivers.borrowed import Borrowed, borrow
from river_core.drivers.sqlalchemy_adopted import is_awaited
from river_core.errors import AmbientTransactionError


class AwaitedSession:
    """An async session or connection that belongs to the caller."""

    copies = False

    def __init__(self, target: AsyncSession | AsyncConnection, vendor: str, own_type: str) -> None:
        """Take the caller's object, whose transaction is open or begins with the first statement."""
        self.raw = target
        self._vendor = vendor
        self._own_type = own_type

    def _borrowed(self, sync: Any) -> Borrowed:
        return borrow(sync, self._vendor, self._own_type)

    async def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows."""
        return await self.raw.run_sync(lambda sync: self._borrowed(sync).fetch(statement))

    async def library_connection(self) -> Any:
        """Return the connection of the database's own library."""
        return await self.raw.run_sync(lambda sync: self._borrowed(sync).library_connection)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """On SQLite begin as the library does before a change; the caller's transaction decides."""
        await self.raw.run_sync(lambda sync: _begin(self._borrowed(sync)))
        yield


class BlockingSession:
    """A session that blocks, used from a coroutine as its owner does."""

    copies = False

    def __init__(self, borrowed: Borrowed) -> None:
        """Take the session's connection."""
        self._borrowed = borrowed

    @property
    def raw(self) -> Any:
        """The connection of SQLAlchemy."""
        return self._borrowed.raw

    async def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement, blocking the event loop, and return its rows."""
        return self._borrowed.fetch(statement)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """Begin as the library does before a change; the caller's transaction decides."""
        with self._borrowed.transaction():
            yield


def _begin(borrowed: Borrowed) -> None:
    with borrowed.transaction():
        """The caller's transaction, which is not ended here."""


async def adopt(raw: Any, vendor: str, own_type: str) -> tuple[AwaitedConnection, Any]:
    """Return an awaited connection and the database library's one below it; raises as `borrow` does."""
    target = awaited_owner(raw)
    if target is not None:
        awaited = AwaitedSession(target, vendor, own_type)
        return awaited, await awaited.library_connection()
    borrowed = borrow(raw, vendor, own_type)
    return BlockingSession(borrowed), borrowed.library_connection


def awaited_owner(raw: Any) -> AsyncSession | AsyncConnection | None:
    """Return the async session or connection that an object is, or is the inside of; None for others."""
    target = async_session(raw) if isinstance(raw, Session) else raw
    return target if isinstance(target, AsyncSession | AsyncConnection) else None


def await_inside(coroutine: Coroutine[Any, Any, object]) -> None:
    """Await inside what SQLAlchemy calls back while an async session is awaited."""
    await_only(coroutine)


def check_awaited(owner: Any) -> None:
    """Raise AmbientTransactionError for a session that blocks, after whose commit nothing can be awaited."""
    target = owner.sync_session if isinstance(owner, AsyncSession) else owner
    if not is_awaited(target):
        raise AmbientTransactionError(
            f"AsyncClient inserts after the commit of an AsyncSession, not of {type_name(owner)}; use Client"
        )
