"""The calls of an awaited client that concern whoever leads; `river_core.aio.AsyncClient` inherits them."""

from __future__ import annotations

from typing import Any

from river_core import queue_admin
from river_core.access_awaited import AwaitedAccess


class AwaitedLeaderCalls:
    """Speaks to the one client that runs the maintenance services."""

    _access: AwaitedAccess

    async def request_resign(self) -> None:
        """As `Client.request_resign`."""
        await self._access.run(queue_admin.request_resign())

    async def request_resign_tx(self, connection: Any) -> None:
        """As `Client.request_resign_tx`."""
        await self._access.run_on(connection, queue_admin.request_resign())
