"""A small pool of psycopg's AsyncConnections, for coroutines of one event loop at a time.

It starts empty in another event loop and after a fork; what was open is not used there again.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from psycopg.pq import TransactionStatus

from river_core.drivers.psycopg_idle import answers
from river_core.drivers.psycopg_session import OwnAwaitedSession
from river_core.errors import OperationalError


class AsyncPool:
    """Lends connections, newest first; opens at most `max_size` at a time."""

    def __init__(
        self, open_connection: Callable[[], Awaitable[OwnAwaitedSession]], max_size: int, timeout: float
    ) -> None:
        """Open nothing yet; a borrower waits up to `timeout` seconds for one of the others to give back."""
        self._open = open_connection
        self._max_size = max_size
        self._timeout = timeout
        self._place: tuple[int, asyncio.AbstractEventLoop] | None = None
        self._free = asyncio.Semaphore(max_size)
        self._idle: list[tuple[OwnAwaitedSession, float]] = []
        self._abandoned: list[OwnAwaitedSession] = []

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[OwnAwaitedSession]:
        """Lend a connection for the block; raises OperationalError when none is or becomes free."""
        self._settle()
        free = self._free
        try:
            await asyncio.wait_for(free.acquire(), self._timeout)
        except TimeoutError as error:
            raise OperationalError(f"no connection became free within {self._timeout:g} s") from error
        try:
            raw = await self._take()
            try:
                yield raw
            finally:
                await self._give_back(raw)
        finally:
            free.release()

    async def close(self) -> None:
        """Close the connections that are not lent; harmless twice."""
        self._settle()
        idle, self._idle = self._idle, []
        for raw, _ in idle:
            await raw.close()

    def _settle(self) -> None:
        place = (os.getpid(), asyncio.get_running_loop())
        if place == self._place:
            return
        if self._place is not None and self._place[0] != place[0]:
            self._abandoned += [raw for raw, _ in self._idle]  # the parent's: closing would end its session
        else:
            for raw, _ in self._idle:
                raw.pgconn.finish()  # its event loop is gone, so it cannot be awaited
        self._place = place
        self._idle, self._free = [], asyncio.Semaphore(self._max_size)

    async def _take(self) -> OwnAwaitedSession:
        while self._idle:
            raw, since = self._idle.pop()
            if await answers(raw, time.monotonic() - since):
                return raw
            await raw.close()
        return await self._open()

    async def _give_back(self, raw: OwnAwaitedSession) -> None:
        if raw.pgconn.transaction_status == TransactionStatus.IDLE:
            self._idle.append((raw, time.monotonic()))
        else:
            await raw.close()
