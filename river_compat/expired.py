"""Deletes finished rows of adapters' tasks whose results are not to be kept any longer.

River's own retention is that of whichever client leads, and covers every kind. Where an adapter keeps
results for a shorter time, only its own rows go earlier.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from river_core import task_rows
from river_core.client import Client
from river_core.drivers.base import Driver

BATCH_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Kept:
    """For how many seconds finished rows of tasks are kept; None is forever.

    `ended` is for those that succeeded or were revoked, `failed` for those that failed.
    """

    ended: float | None
    failed: float | None


def delete_expired(driver: Driver, kept: Kept) -> int:
    """Delete, in batches, what is older; return how many rows there were. Raises DatabaseError."""
    total = 0
    while kept.ended is not None or kept.failed is not None:
        deleted = task_rows.delete_expired(driver, kept.ended, kept.failed, BATCH_ROWS)
        total += deleted
        if deleted < BATCH_ROWS:
            break
    return total


class ExpiredResults:
    """Does so every 30 seconds, while its worker leads (a maintenance service of River's)."""

    interval = 30.0

    def __init__(self, kept: Kept) -> None:
        """Keep rows as `kept` says."""
        self._kept = kept

    def run(self, client: Client, driver: Driver, now: datetime) -> None:
        """Make one pass."""
        delete_expired(driver, self._kept)
