"""The calls of an awaited client that act on queues; `river_core.aio.AsyncClient` inherits them.

They are those of `river_core.client_queues`, with the same actions behind them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from river_core import queue_admin
from river_core.access_awaited import AwaitedAccess
from river_core.db.queues import QueueRow
from river_core.job_list import LIMIT_DEFAULT


class AwaitedQueueCalls:
    """Reads, lists, pauses, resumes and updates queues, which exist once some worker has worked them."""

    _access: AwaitedAccess

    async def queue_get(self, name: str) -> QueueRow:
        """As `Client.queue_get`."""
        return await self._access.run(queue_admin.get(name))

    async def queue_get_tx(self, connection: Any, name: str) -> QueueRow:
        """As `Client.queue_get_tx`."""
        return await self._access.run_on(connection, queue_admin.get(name))

    async def queue_list(self, limit: int = LIMIT_DEFAULT) -> list[QueueRow]:
        """As `Client.queue_list`."""
        return await self._access.run(queue_admin.page(limit))

    async def queue_list_tx(self, connection: Any, limit: int = LIMIT_DEFAULT) -> list[QueueRow]:
        """As `Client.queue_list_tx`."""
        return await self._access.run_on(connection, queue_admin.page(limit))

    async def queue_name_list(
        self, *, after: str = "", match: str = "", exclude: Collection[str] = (), limit: int = LIMIT_DEFAULT
    ) -> list[str]:
        """As `Client.queue_name_list`."""
        return await self._access.run(queue_admin.names(after, match, exclude, limit))

    async def queue_pause(self, name: str) -> None:
        """As `Client.queue_pause`."""
        await self._access.run(queue_admin.pause(name))

    async def queue_pause_tx(self, connection: Any, name: str) -> None:
        """As `Client.queue_pause_tx`."""
        await self._access.run_on(connection, queue_admin.pause(name))

    async def queue_resume(self, name: str) -> None:
        """As `Client.queue_resume`."""
        await self._access.run(queue_admin.resume(name))

    async def queue_resume_tx(self, connection: Any, name: str) -> None:
        """As `Client.queue_resume_tx`."""
        await self._access.run_on(connection, queue_admin.resume(name))

    async def queue_update(self, name: str, *, metadata: Mapping[str, Any] | None = None) -> QueueRow:
        """As `Client.queue_update`."""
        return await self._access.run(queue_admin.update(name, metadata))

    async def queue_update_tx(
        self, connection: Any, name: str, *, metadata: Mapping[str, Any] | None = None
    ) -> QueueRow:
        """As `Client.queue_update_tx`."""
        return await self._access.run_on(connection, queue_admin.update(name, metadata))
