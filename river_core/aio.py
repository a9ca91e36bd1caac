"""The client for coroutines: the same rows and statements as `Client`, awaited.

Every call runs in the transaction of the connection given to `river_core.join`, or of a watched
session, where there is one, else in one of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from river_core.access_awaited import AwaitedAccess
from river_core.aio_inserter import AwaitedInsertContext, AwaitedInserter
from river_core.aio_jobs import AwaitedJobCalls
from river_core.aio_leader import AwaitedLeaderCalls
from river_core.aio_queues import AwaitedQueueCalls
from river_core.clock import Clock
from river_core.drivers.base import AwaitedDriver
from river_core.insert import (
    MAX_ATTEMPTS_DEFAULT,
    QUEUE_DEFAULT,
    InsertManyParams,
    InsertOpts,
    InsertParams,
    InsertResult,
)
from river_core.insert_options import InsertDefaults
from river_core.inserter import Enqueue
from river_core.inserting import InsertNotifyLimiter
from river_core.plugins import PluginSet
from river_core.row_builder import RowBuilder
from river_core.task import Registry


class AsyncClient(AwaitedJobCalls, AwaitedQueueCalls, AwaitedLeaderCalls):
    """Inserts jobs, and acts on stored jobs and queues, from coroutines (River: Client).

    It has the calls of `Client`, under the same names, awaited.

    >>> client = AsyncClient(open_async_driver("postgresql://localhost/shop"))  # doctest: +SKIP
    >>> await client.insert(EncodedArgs("send_email", '{"to": 7}'), queue="mail")  # doctest: +SKIP
    """

    def __init__(
        self,
        driver: AwaitedDriver,
        *,
        queue: str = QUEUE_DEFAULT,
        max_attempts: int = MAX_ATTEMPTS_DEFAULT,
        registry: Registry | None = None,
        skip_unknown_job_check: bool = False,
        clock: Clock | None = None,
        lenient_queue_names: bool = False,
        limiter: InsertNotifyLimiter | None = None,
        notify_inserts: bool = True,
        plugins: Iterable[object] = (),
    ) -> None:
        """Take the defaults of all inserts, as `Client` does; raises ConfigurationError as it does.

        `plugins` and those of the registry's tasks see every insert, in a thread beside the event loop.
        """
        self.driver = driver
        self.limiter = limiter or InsertNotifyLimiter(silent=not notify_inserts)
        defaults = InsertDefaults(queue, max_attempts, lenient_queue_names)
        self._rows = RowBuilder(defaults, None if skip_unknown_job_check else registry, clock)
        given = PluginSet(plugins, registry)
        context = AwaitedInsertContext(driver, self._rows, self.limiter, given, lenient_queue_names)
        self._inserter = AwaitedInserter(context)
        self._fast_inserter = AwaitedInserter(context, fast=True)
        self._access = AwaitedAccess(driver, self._rows.clock)

    async def insert(
        self,
        args: Any,
        insert_opts: InsertOpts | None = None,
        *,
        enqueue: Enqueue = "ambient",
        **opts: Any,
    ) -> InsertResult:
        """Insert one job, with options as an object or as keywords of the same names.

        `enqueue="own"` passes a joined or watched transaction by, `"after_commit"` inserts on our own
        connection once a watched async session is committed. Raises as `Client.insert` does.
        """
        return (await self._inserter.insert(self._rows.one(args, insert_opts, opts), enqueue))[0]

    async def insert_many(
        self, jobs: Sequence[InsertManyParams], *, enqueue: Enqueue = "ambient"
    ) -> list[InsertResult]:
        """Insert several jobs, all or none; returns one result for each, in order. Raises as `insert`."""
        return list(await self._inserter.insert(self._rows.many(jobs), enqueue))

    async def insert_tx(
        self, connection: Any, args: Any, insert_opts: InsertOpts | None = None, **opts: Any
    ) -> InsertResult:
        """Insert one job inside the open transaction of `connection`, which the caller commits."""
        return (await self._inserter.insert_tx(connection, self._rows.one(args, insert_opts, opts)))[0]

    async def insert_many_tx(self, connection: Any, jobs: Sequence[InsertManyParams]) -> list[InsertResult]:
        """Insert several jobs inside the open transaction of `connection`, which the caller commits."""
        return list(await self._inserter.insert_tx(connection, self._rows.many(jobs)))

    async def insert_many_fast(
        self, jobs: Sequence[InsertManyParams], *, enqueue: Enqueue = "ambient"
    ) -> int:
        """Insert many jobs without reading them back; returns their number, as `Client.insert_many_fast`."""
        return len(await self._fast_inserter.insert(self._rows.many(jobs), enqueue))

    async def insert_many_fast_tx(self, connection: Any, jobs: Sequence[InsertManyParams]) -> int:
        """Do the same inside the open transaction of `connection`, which the caller commits."""
        return len(await self._fast_inserter.insert_tx(connection, self._rows.many(jobs)))

    async def insert_params(
        self, rows: Sequence[InsertParams], *, enqueue: Enqueue = "ambient"
    ) -> list[InsertResult]:
        """Insert rows that an adapter has put together; the JSON in them is taken as it is."""
        return list(await self._inserter.insert(self._rows.checked(rows), enqueue))

    def row_to_insert(self, args: Any, insert_opts: InsertOpts | None, now: datetime) -> InsertParams:
        """As `Client.row_to_insert`; nothing is awaited."""
        return self._rows.row(args, insert_opts, now)

    @property
    def clock(self) -> Clock:
        """The clock of this client."""
        return self._rows.clock

    async def close(self) -> None:
        """Close the driver's connections; harmless twice."""
        await self.driver.close()
