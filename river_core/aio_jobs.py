"""The calls of an awaited client that act on stored jobs; `river_core.aio.AsyncClient` inherits them.

They are those of `river_core.client_jobs`, with the same actions behind them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from river_core import job_admin
from river_core.access_awaited import AwaitedAccess
from river_core.job import JobRow, JobState
from river_core.job_admin import QueueCount
from river_core.job_list import LIMIT_DEFAULT, JobDeleteManyParams, JobListParams, JobListResult
from river_core.job_update import JobUpdateParams
from river_core.keywords import options


class AwaitedJobCalls:
    """Reads, lists, cancels, retries, updates, deletes and counts stored jobs."""

    _access: AwaitedAccess

    async def job_get(self, job_id: int) -> JobRow:
        """As `Client.job_get`."""
        return await self._access.run(job_admin.get(job_id))

    async def job_get_tx(self, connection: Any, job_id: int) -> JobRow:
        """As `Client.job_get_tx`."""
        return await self._access.run_on(connection, job_admin.get(job_id))

    async def job_list(self, params: JobListParams | None = None, /, **fields: Any) -> JobListResult:
        """As `Client.job_list`."""
        params = options(JobListParams, params, fields)
        return await self._access.run(job_admin.page(params))

    async def job_list_tx(
        self, connection: Any, params: JobListParams | None = None, /, **fields: Any
    ) -> JobListResult:
        """As `Client.job_list_tx`."""
        return await self._access.run_on(connection, job_admin.page(options(JobListParams, params, fields)))

    async def job_cancel(self, job_id: int) -> JobRow:
        """As `Client.job_cancel`."""
        return await self._access.run(job_admin.cancel(job_id))

    async def job_cancel_tx(self, connection: Any, job_id: int) -> JobRow:
        """As `Client.job_cancel_tx`."""
        return await self._access.run_on(connection, job_admin.cancel(job_id))

    async def job_retry(self, job_id: int) -> JobRow:
        """As `Client.job_retry`."""
        return await self._access.run(job_admin.retry(job_id))

    async def job_retry_tx(self, connection: Any, job_id: int) -> JobRow:
        """As `Client.job_retry_tx`."""
        return await self._access.run_on(connection, job_admin.retry(job_id))

    async def job_update(
        self, job_id: int, params: JobUpdateParams | None = None, /, **fields: Any
    ) -> JobRow:
        """As `Client.job_update`."""
        params = options(JobUpdateParams, params, fields)
        return await self._access.run(job_admin.update(job_id, params))

    async def job_update_tx(
        self, connection: Any, job_id: int, params: JobUpdateParams | None = None, /, **fields: Any
    ) -> JobRow:
        """As `Client.job_update_tx`."""
        return await self._access.run_on(
            connection, job_admin.update(job_id, options(JobUpdateParams, params, fields))
        )

    async def job_delete(self, job_id: int) -> JobRow:
        """As `Client.job_delete`."""
        return await self._access.run(job_admin.delete(job_id))

    async def job_delete_tx(self, connection: Any, job_id: int) -> JobRow:
        """As `Client.job_delete_tx`."""
        return await self._access.run_on(connection, job_admin.delete(job_id))

    async def job_delete_many(
        self, params: JobDeleteManyParams | None = None, /, **fields: Any
    ) -> list[JobRow]:
        """As `Client.job_delete_many`."""
        params = options(JobDeleteManyParams, params, fields)
        return await self._access.run(job_admin.delete_many(params))

    async def job_delete_many_tx(
        self, connection: Any, params: JobDeleteManyParams | None = None, /, **fields: Any
    ) -> list[JobRow]:
        """As `Client.job_delete_many_tx`."""
        return await self._access.run_on(
            connection, job_admin.delete_many(options(JobDeleteManyParams, params, fields))
        )

    async def job_count_by_state(self) -> dict[JobState, int]:
        """As `Client.job_count_by_state`."""
        return await self._access.run(job_admin.count_by_state())

    async def job_count_by_queue(self, queues: Collection[str]) -> list[QueueCount]:
        """As `Client.job_count_by_queue`."""
        return await self._access.run(job_admin.count_by_queue(queues))

    async def job_kind_list(
        self, *, after: str = "", match: str = "", exclude: Collection[str] = (), limit: int = LIMIT_DEFAULT
    ) -> list[str]:
        """As `Client.job_kind_list`."""
        return await self._access.run(job_admin.kinds(after, match, exclude, limit))
