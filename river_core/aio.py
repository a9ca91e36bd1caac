"""The client for coroutines: the same rows and statements as `Client`, awaited.

Every call runs in the transaction of the connection given to `river_core.join`, or of a watched
session, where there is one, else in one of its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar

from river_core import steps
from river_core.ambient import joined
from river_core.clock import Clock
from river_core.db.statement import Sql
from river_core.drivers.base import AwaitedConnection, AwaitedDriver
from river_core.errors import OtherDatabaseError, ValidationError
from river_core.insert import (
    MAX_ATTEMPTS_DEFAULT,
    QUEUE_DEFAULT,
    InsertManyParams,
    InsertOpts,
    InsertParams,
    InsertResult,
    JobArgs,
)
from river_core.insert_options import InsertDefaults
from river_core.inserting import InsertNotifyLimiter, insert_steps
from river_core.inserting_fast import insert_fast_steps
from river_core.job import JobRow
from river_core.row_builder import RowBuilder
from river_core.steps import Steps, run_awaited
from river_core.task import Registry

AwaitedEnqueue = Literal["ambient", "own"]
T = TypeVar("T")
AwaitedWrite = Callable[[AwaitedConnection, Sql, Sequence[InsertParams], Collection[str]], Awaitable[T]]


class AsyncClient:
    """Inserts jobs, and reads, cancels, retries and deletes them, from coroutines (River: Client).

    The names are those of River's insert-only Python client.

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
    ) -> None:
        """Take the defaults of all inserts, as `Client` does; raises ConfigurationError as it does.

        Plugins, which block, see no insert of this client; those of the registry's tasks neither.
        """
        self.driver = driver
        self.limiter = limiter or InsertNotifyLimiter()
        defaults = InsertDefaults(queue, max_attempts, lenient_queue_names)
        self._rows = RowBuilder(defaults, None if skip_unknown_job_check else registry, clock)

    async def insert(
        self,
        args: JobArgs,
        insert_opts: InsertOpts | None = None,
        *,
        enqueue: AwaitedEnqueue = "ambient",
        **opts: Any,
    ) -> InsertResult:
        """Insert one job, with options as an object or as keywords of the same names.

        `enqueue="own"` passes a joined or watched transaction by. Raises as `Client.insert` does, and
        OtherDatabaseError where the open transaction is on another database.
        """
        return (await self._insert(self._rows.one(args, insert_opts, opts), enqueue, _write))[0]

    async def insert_many(
        self, jobs: Sequence[InsertManyParams], *, enqueue: AwaitedEnqueue = "ambient"
    ) -> list[InsertResult]:
        """Insert several jobs, all or none; returns one result for each, in order. Raises as `insert`."""
        return await self._insert(self._rows.many(jobs), enqueue, _write)

    async def insert_tx(
        self, connection: Any, args: JobArgs, insert_opts: InsertOpts | None = None, **opts: Any
    ) -> InsertResult:
        """Insert one job inside the open transaction of `connection`, which the caller commits."""
        rows = self._rows.one(args, insert_opts, opts)
        return (await self._insert_on(await self.driver.adopt(connection), rows, _write))[0]

    async def insert_many_tx(self, connection: Any, jobs: Sequence[InsertManyParams]) -> list[InsertResult]:
        """Insert several jobs inside the open transaction of `connection`, which the caller commits."""
        rows = self._rows.many(jobs)
        return await self._insert_on(await self.driver.adopt(connection), rows, _write)

    async def insert_many_fast(
        self, jobs: Sequence[InsertManyParams], *, enqueue: AwaitedEnqueue = "ambient"
    ) -> int:
        """Insert many jobs without reading them back; returns their number, as `Client.insert_many_fast`."""
        rows = self._rows.many(jobs)
        await self._insert(rows, enqueue, _write_fast)
        return len(rows)

    async def insert_many_fast_tx(self, connection: Any, jobs: Sequence[InsertManyParams]) -> int:
        """Do the same inside the open transaction of `connection`, which the caller commits."""
        rows = self._rows.many(jobs)
        await self._insert_on(await self.driver.adopt(connection), rows, _write_fast)
        return len(rows)

    async def job_get(self, job_id: int) -> JobRow:
        """Return a stored job; raises NotFoundError."""
        return await self._run(lambda sql: steps.job_get(sql, job_id))

    async def job_cancel(self, job_id: int) -> JobRow:
        """Cancel a job; one that runs is asked to stop, a finished one stays (River: JobCancel)."""
        now = self._rows.clock.now()
        return await self._run(lambda sql: steps.job_cancel(sql, job_id, now, self._rows.now()))

    async def job_retry(self, job_id: int) -> JobRow:
        """Make a job available now, with an attempt left (River: JobRetry); raises as `Client.job_retry`."""
        now = self._rows.clock.now()
        return await self._run(lambda sql: steps.job_retry(sql, job_id, now, self._rows.now()))

    async def job_delete(self, job_id: int) -> JobRow:
        """Delete a job and return it; raises NotFoundError, or JobRunningError while it runs."""
        return await self._run(lambda sql: steps.job_delete(sql, job_id))

    async def close(self) -> None:
        """Close the driver's connections; harmless twice."""
        await self.driver.close()

    async def _insert(
        self, rows: Sequence[InsertParams], enqueue: AwaitedEnqueue, write: AwaitedWrite[T]
    ) -> T:
        if enqueue not in ("ambient", "own"):
            raise ValidationError(
                f"enqueue must be 'ambient' or 'own', not {enqueue!r}; 'after_commit' is for Client"
            )
        adopted = await self.driver.ambient() if enqueue == "ambient" else None
        if adopted is not None:
            return await self._insert_on(adopted, rows, write)
        rows = self._rows.stamped(rows)
        notified = self.limiter.allowed(rows)
        try:
            async with self.driver.connect() as connection:
                return await write(connection, self.driver.sql, rows, notified)
        except BaseException:
            self.limiter.forget(notified)
            raise

    async def _insert_on(
        self, adopted: AwaitedConnection, rows: Sequence[InsertParams], write: AwaitedWrite[T]
    ) -> T:
        rows = self._rows.stamped(rows)
        return await write(adopted, self.driver.sql, rows, self.limiter.in_transaction(rows))

    async def _run(self, job_steps: Callable[[Sql], Steps[T]]) -> T:
        async with self._connection() as connection, connection.transaction():
            return await run_awaited(connection, job_steps(self.driver.sql))

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AwaitedConnection]:
        try:
            adopted = await self.driver.ambient()
        except OtherDatabaseError:
            if joined() is not None:
                raise
            adopted = None
        if adopted is not None:
            yield adopted
            return
        async with self.driver.connect() as own:
            yield own


async def _write(
    connection: AwaitedConnection, sql: Sql, rows: Sequence[InsertParams], notify_queues: Collection[str]
) -> list[InsertResult]:
    return await run_awaited(connection, insert_steps(sql, rows, notify_queues))


async def _write_fast(
    connection: AwaitedConnection, sql: Sql, rows: Sequence[InsertParams], notify_queues: Collection[str]
) -> None:
    async with connection.transaction():
        await run_awaited(connection, insert_fast_steps(sql, rows, notify_queues, connection.copies))
