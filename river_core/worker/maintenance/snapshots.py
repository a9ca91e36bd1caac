"""Warns of what keeps Postgres from removing dead rows: a forgotten transaction, a replica, a slot.

Each claim and each outcome leaves a dead row behind. While somebody may still look at an old state of the
database none of them can go, and claims become slow although every query looks harmless.
"""

from __future__ import annotations

import logging

from river_core.db.maintenance import SnapshotHolder, decode_holder, snapshot_get_oldest
from river_core.drivers.base import Connection, Driver
from river_core.worker.maintenance.service import MaintenanceService

INTERVAL_SECONDS = 60.0
OLD_SECONDS = 300.0
OLD_TRANSACTIONS = 1_000_000

logger = logging.getLogger(__name__)


class SnapshotWatch(MaintenanceService):
    """Looks every minute, and names a holder once. For Postgres only."""

    def __init__(
        self,
        driver: Driver,
        *,
        old_after: float = OLD_SECONDS,
        old_transactions: int = OLD_TRANSACTIONS,
        interval: float = INTERVAL_SECONDS,
    ) -> None:
        """Warn of what is older than `old_after` seconds or, where that is not known, `old_transactions`."""
        super().__init__("river-snapshot-watch", driver, interval)
        self._old_after = old_after
        self._old_transactions = old_transactions
        self._named: set[str] = set()

    def work(self, connection: Connection, limit: int) -> int:
        """Name the holders that were not named before."""
        sql = self._driver.sql
        statement = snapshot_get_oldest(sql, self._old_after, self._old_transactions)
        holders = [decode_holder(row) for row in connection.fetch(statement)]
        for holder in holders:
            if holder.name not in self._named:
                _warn(holder)
        self._named = {holder.name for holder in holders}
        return 0


def _warn(holder: SnapshotHolder) -> None:
    logger.warning(
        "%s keeps Postgres from removing dead rows, since %s (%s); claims slow down while it does: %s",
        holder.name,
        "some time" if holder.seconds is None else f"{holder.seconds:.0f} s",
        holder.details,
        holder.way_out,
    )
