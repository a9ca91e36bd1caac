"""How an awaited client's checked rows get into the database; `river_core.inserter`, awaited.

Plugins are blocking code: they run in a thread, which waits while the event loop writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from river_core.ambient import join, joined, open_transaction
from river_core.aside import aside
from river_core.deferring import AfterCommit, UnreadResults
from river_core.drivers.base import AwaitedConnection, AwaitedDriver
from river_core.errors import OtherDatabaseError, ValidationError
from river_core.insert import InsertParams, InsertResult
from river_core.insert_plugins import insert_with_plugins
from river_core.inserter import Enqueue, Results, Rows
from river_core.inserting import InsertNotifyLimiter, insert_many_awaited
from river_core.inserting_fast import insert_fast_steps
from river_core.plugins import PluginSet
from river_core.row_builder import RowBuilder
from river_core.steps import run_awaited


@dataclass(frozen=True, slots=True)
class AwaitedInsertContext:
    """What all inserts of one awaited client share."""

    driver: AwaitedDriver
    rows: RowBuilder
    limiter: InsertNotifyLimiter
    plugins: PluginSet
    lenient_queue_names: bool


class AwaitedInserter:
    """Inserts the rows of one awaited client."""

    def __init__(self, context: AwaitedInsertContext, *, fast: bool = False) -> None:
        """Insert with results that are read back, or, `fast`, without: their jobs have the id 0."""
        self._context = context
        self._driver = context.driver
        self._fast = fast
        self._after_commit = AfterCommit(self._insert_at_commit)

    async def insert(self, rows: Rows, enqueue: Enqueue) -> Results:
        """Insert in the transaction around the call, in one of our own, or after a commit; all or none."""
        if enqueue == "after_commit":
            return await self._insert_after_commit(rows)
        is_explicit = joined() is not None
        try:
            adopted = await self._ambient(enqueue)
        except OtherDatabaseError:
            if is_explicit:
                raise
            self._after_commit.elsewhere(_awaited(open_transaction()), rows)
            return self._unread(rows)
        return await (self._insert_own(rows) if adopted is None else self._insert_on(adopted, rows))

    async def insert_tx(self, connection: Any, rows: Rows) -> Results:
        """Insert inside the open transaction of a connection of the driver's library."""
        return await self._insert_on(await self._driver.adopt(connection), rows)

    async def _insert_on(self, adopted: AwaitedConnection, rows: Rows) -> Results:
        """Insert on a borrowed connection, whose commit nobody tells of; River's limiter counts here, too."""
        if self._context.plugins.any:
            return await self._with_plugins(adopted, rows, self._context.limiter.allowed)
        rows = self._context.rows.stamped(rows)
        return await self._write(adopted, rows, self._context.limiter.allowed(rows))

    async def _insert_after_commit(self, rows: Rows) -> Results:
        owner = open_transaction()
        if owner is None:
            return await self._insert_own(rows)
        self._after_commit.after_commit(_awaited(owner), rows)
        return self._unread(rows)

    def _insert_at_commit(self, rows: Rows) -> None:
        from river_core.drivers.sqlalchemy_awaited import await_inside  # only this library tells of commits

        await_inside(self._insert_own(rows))

    async def _insert_own(self, rows: Rows) -> Results:
        notified: list[str] = []

        def allowed(last: Rows) -> list[str]:
            notified.extend(self._context.limiter.allowed(last))
            return notified

        try:
            async with self._driver.connect() as own:
                if self._context.plugins.any:
                    async with own.transaction():
                        return await self._with_plugins(own, rows, allowed)
                rows = self._context.rows.stamped(rows)
                return await self._write(own, rows, allowed(rows))
        except BaseException:
            self._context.limiter.forget(notified)
            raise

    async def _with_plugins(
        self, connection: AwaitedConnection, rows: Rows, notify: Callable[[Rows], list[str]]
    ) -> Results:
        """Insert in the connection's transaction, with the plugins in a thread around it."""
        loop = asyncio.get_running_loop()

        def write(last: Sequence[InsertParams]) -> list[InsertResult]:
            last = self._context.rows.stamped(last)
            writing = self._write(connection, last, notify(last))
            return list(asyncio.run_coroutine_threadsafe(writing, loop).result())

        context, are_read = self._context, not self._fast
        with join(connection.raw):
            return await aside(
                lambda: insert_with_plugins(
                    context.plugins, rows, context.lenient_queue_names, write, are_read=are_read
                )
            )

    async def _write(
        self, connection: AwaitedConnection, rows: Rows, notify_queues: Collection[str]
    ) -> Results:
        sql = self._driver.sql
        if not self._fast:
            return await insert_many_awaited(connection, sql, rows, notify_queues)
        if rows:
            async with connection.transaction():
                steps = insert_fast_steps(sql, rows, notify_queues, connection.copies)
                await run_awaited(connection, steps)
        return self._unread(rows)

    def _unread(self, rows: Rows) -> Results:
        return UnreadResults(rows, self._context.rows.clock.now())

    async def _ambient(self, enqueue: Enqueue) -> AwaitedConnection | None:
        if enqueue == "own":
            return None
        if enqueue != "ambient":
            raise ValidationError(f"enqueue must be 'ambient', 'own' or 'after_commit', not {enqueue!r}")
        return await self._driver.ambient()


def _awaited(owner: Any) -> Any:
    """Return what has a transaction open, if it can await after its commit."""
    if any(parent.__module__.startswith("sqlalchemy.") for parent in type(owner).__mro__):
        from river_core.drivers.sqlalchemy_awaited import check_awaited  # only the library in use is imported

        check_awaited(owner)
    return owner
