"""The calls of a client that act on queues; `river_core.client.Client` inherits them.

Transactions are as in `river_core.client_jobs`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from river_core import queue_admin
from river_core.access import Access
from river_core.db.queues import QueueRow
from river_core.job_list import LIMIT_DEFAULT


class QueueCalls:
    """Reads, lists, pauses, resumes and updates queues, which exist once some worker has worked them."""

    _access: Access

    def queue_get(self, name: str) -> QueueRow:
        """Return a queue that some worker has worked (River: QueueGet); raises NotFoundError."""
        return self._access.run(queue_admin.get(name))

    def queue_get_tx(self, connection: Any, name: str) -> QueueRow:
        """Do as `queue_get` in the transaction of `connection` (River: QueueGetTx)."""
        return self._access.run_on(connection, queue_admin.get(name))

    def queue_list(self, limit: int = LIMIT_DEFAULT) -> list[QueueRow]:
        """Return up to `limit` queues, 1 to 10,000, by name (River: QueueList)."""
        return self._access.run(queue_admin.page(limit))

    def queue_list_tx(self, connection: Any, limit: int = LIMIT_DEFAULT) -> list[QueueRow]:
        """Do as `queue_list` in the transaction of `connection` (River: QueueListTx)."""
        return self._access.run_on(connection, queue_admin.page(limit))

    def queue_name_list(
        self, *, after: str = "", match: str = "", exclude: Collection[str] = (), limit: int = LIMIT_DEFAULT
    ) -> list[str]:
        """Return the names of queues in order (River UI: QueueNameList); filters as in `job_kind_list`."""
        return self._access.run(queue_admin.names(after, match, exclude, limit))

    def queue_pause(self, name: str) -> None:
        """Stop the work of a queue, or of all for `*`, on every worker (River: QueuePause).

        Raises NotFoundError.
        """
        self._access.run(queue_admin.pause(name))

    def queue_pause_tx(self, connection: Any, name: str) -> None:
        """Do as `queue_pause` in the transaction of `connection` (River: QueuePauseTx)."""
        self._access.run_on(connection, queue_admin.pause(name))

    def queue_resume(self, name: str) -> None:
        """Take up the work of a queue, or of all for `*`, again (River: QueueResume).

        Raises NotFoundError.
        """
        self._access.run(queue_admin.resume(name))

    def queue_resume_tx(self, connection: Any, name: str) -> None:
        """Do as `queue_resume` in the transaction of `connection` (River: QueueResumeTx)."""
        self._access.run_on(connection, queue_admin.resume(name))

    def queue_update(self, name: str, *, metadata: Mapping[str, Any] | None = None) -> QueueRow:
        """Replace the metadata of a queue, whole, and tell the workers (River: QueueUpdate).

        None leaves it and moves `updated_at` only. Raises NotFoundError or ValidationError.
        """
        return self._access.run(queue_admin.update(name, metadata))

    def queue_update_tx(
        self, connection: Any, name: str, *, metadata: Mapping[str, Any] | None = None
    ) -> QueueRow:
        """Do as `queue_update` in the transaction of `connection` (River: QueueUpdateTx)."""
        return self._access.run_on(connection, queue_admin.update(name, metadata))
