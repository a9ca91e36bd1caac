"""The calls of a client that concern whoever leads; `river_core.client.Client` inherits them.

Transactions are as in `river_core.client_jobs`.
"""

from __future__ import annotations

from typing import Any

from river_core import queue_admin
from river_core.access import Access


class LeaderCalls:
    """Speaks to the one client that runs the maintenance services."""

    _access: Access

    def request_resign(self) -> None:
        """Ask the leader, whichever client it is, to step down (River: Notify().RequestResign).

        Another client then leads within a second, but for a leader in Go, which bids again itself (0.43). The
        message goes out when the transaction commits; workers that only poll do not hear it.
        """
        self._access.run(queue_admin.request_resign())

    def request_resign_tx(self, connection: Any) -> None:
        """Do as `request_resign` in the transaction of `connection` (River: Notify().RequestResignTx)."""
        self._access.run_on(connection, queue_admin.request_resign())
