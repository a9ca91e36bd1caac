"""How an awaited client's calls reach the database; `river_core.access`, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from river_core.actions import Action, Setting
from river_core.ambient import joined
from river_core.clock import Clock
from river_core.drivers.base import AwaitedConnection, AwaitedDriver
from river_core.errors import OtherDatabaseError
from river_core.steps import run_awaited

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AwaitedAccess:
    """Runs actions on one database."""

    driver: AwaitedDriver
    clock: Clock

    async def run(self, action: Action[T]) -> T:
        """Run an action in the transaction around the call, else in one of our own."""
        async with self._connection() as connection:
            return await self._run(connection, action)

    async def run_on(self, connection: Any, action: Action[T]) -> T:
        """Run an action in the open transaction of a connection, which the caller ends.

        Raises AmbientTransactionError for one that cannot be used.
        """
        return await self._run(await self.driver.adopt(connection), action)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AwaitedConnection]:
        adopted = await self._ambient()
        if adopted is not None:
            yield adopted
            return
        async with self.driver.connect() as own:
            yield own

    async def _ambient(self) -> AwaitedConnection | None:
        """Take no notice of a watched transaction that is on another database."""
        try:
            return await self.driver.ambient()
        except OtherDatabaseError:
            if joined() is not None:
                raise
            return None

    async def _run(self, connection: AwaitedConnection, action: Action[T]) -> T:
        steps = action.steps(Setting(self.driver.sql, self.clock))
        if not action.in_transaction:
            return await run_awaited(connection, steps)
        async with connection.transaction():
            return await run_awaited(connection, steps)
