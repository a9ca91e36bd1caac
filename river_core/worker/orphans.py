"""Finds rows that this client claimed without knowing it, and gives them back.

A claim may commit although its answer never arrives: the connection breaks in between, or a row cannot
be read. Such rows are `running` under a client that lives, so nobody else would ever take them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from river_core.clock import Clock
from river_core.db import notifications, work
from river_core.db.work import AttemptChange
from river_core.drivers.base import Driver
from river_core.outcome import set_interrupted
from river_core.service import Service

INTERVAL_SECONDS = 10.0
SIGHTINGS = 2

Sighting = tuple[int, int]
logger = logging.getLogger(__name__)


class OrphanWatch(Service):
    """Compares what the database says is running here with what is."""

    def __init__(
        self,
        driver: Driver,
        client_id: str,
        known: Callable[[], Collection[int]],
        clock: Clock,
        interval: float = INTERVAL_SECONDS,
    ) -> None:
        """Look every `interval` seconds; `known` tells the jobs in slots and those whose outcome waits."""
        super().__init__("river-orphans")
        self._driver = driver
        self._client_id = client_id
        self._known = known
        self._clock = clock
        self._interval = interval
        self._seen: dict[Sighting, int] = {}

    def run_once(self) -> float:
        """Look once; give back what was unknown twice in a row, since a claim may be on its way here."""
        with self._driver.connect() as connection:
            rows = connection.fetch(work.job_list_running(self._driver.sql, self._client_id))
        known = self._known()
        unknown = {(row[0], row[1]): row[2] for row in rows if row[0] not in known}
        self._seen = {sighting: self._seen.get(sighting, 0) + 1 for sighting in unknown}
        orphans = [sighting for sighting, times in self._seen.items() if times >= SIGHTINGS]
        if orphans:
            self._give_back(orphans, {unknown[sighting] for sighting in orphans})
        return self._interval

    def _give_back(self, orphans: list[Sighting], queues: set[str]) -> None:
        now = self._clock.now()
        changes = [
            AttemptChange(job_id, attempt, set_interrupted(now, max(attempt - 1, 0), {}))
            for job_id, attempt in orphans
        ]
        sql = self._driver.sql
        payloads = [notifications.insert_payload(queue) for queue in sorted(queues)]
        with self._driver.connect() as connection, connection.transaction():
            connection.fetch(work.job_set_state_if_running_many(sql, self._client_id, changes))
            connection.fetch(notifications.notify_many(sql, notifications.TOPIC_INSERT, payloads))
        ids = ", ".join(str(job_id) for job_id, _ in orphans[:20])
        logger.warning(
            "%d jobs were claimed here without an answer and are given back: %s", len(orphans), ids
        )
