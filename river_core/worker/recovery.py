"""Takes over what a dead Python client left running, within seconds instead of River's hour.

Every started client does this, whoever leads. Only clients whose id says that they hold a lock are
judged, and only by that lock: rows of other languages are left to the rescuer.
"""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from river_core.clock import Clock, SystemClock
from river_core.db import liveness, notifications
from river_core.db.statement import Dialect
from river_core.drivers.base import Connection, Driver, Listener, Row
from river_core.errors import DatabaseError
from river_core.job import JobState
from river_core.service import Service
from river_core.worker.identity import LOCKED
from river_core.worker.lock_file import (
    database_file,
    delete_all_free,
    delete_if_free,
    is_held,
    lock_path,
)

MAX_CRASHES = 25
BATCH_ROWS = 1_000
SHOWN_IDS = 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecoveryTiming:
    """When a client is taken for dead, in seconds.

    `dead_after`: how long its lock was seen free. `quiet`: how long nobody is judged after the
    server's start or the observer's own reconnect. `gap`: the longest time between two looks that
    still count as seeing without interruption.
    """

    interval: float = 2.5
    dead_after: float = 10.0
    quiet: float = 15.0
    gap: float = 6.0


class Suspects:
    """Which clients were seen without their lock, and since when; no I/O."""

    def __init__(self, timing: RecoveryTiming) -> None:
        """Suspect nobody."""
        self._timing = timing
        self._free_since: dict[str, float] = {}
        self._looked_at: float | None = None
        self._quiet_until: float | None = None
        self._reconnected = False

    def reconnected(self) -> None:
        """Note that the observer itself lost the database: what it saw before proves nothing."""
        self._reconnected = True

    def observe(self, now: float, free: Collection[str], server_age: float | None) -> list[str]:
        """Take what one look saw at `now` and return the clients that are dead."""
        if self._reconnected:
            self._reconnected = False
            self._free_since.clear()
            self._quiet_until = now + self._timing.quiet
        if self._looked_at is not None and now - self._looked_at > self._timing.gap:
            self._free_since.clear()
        self._looked_at = now
        self._free_since = {client: self._free_since.get(client, now) for client in free}
        if self._is_quiet(now, server_age):
            return []
        oldest = now - self._timing.dead_after
        return [client for client, since in self._free_since.items() if since <= oldest]

    def _is_quiet(self, now: float, server_age: float | None) -> bool:
        if self._quiet_until is not None and now < self._quiet_until:
            return True
        return server_age is not None and server_age < self._timing.quiet


class Recovery(Service):
    """Looks every two seconds for clients that are gone and gives their jobs back."""

    def __init__(
        self,
        driver: Driver,
        client_id: str,
        *,
        timing: RecoveryTiming | None = None,
        max_crashes: int = MAX_CRASHES,
        clock: Clock | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        """Observe all clients but `client_id`; a job is discarded at its `max_crashes`th crash."""
        super().__init__("river-recovery")
        self._driver = driver
        self._client_id = client_id
        self._timing = timing or RecoveryTiming()
        self._max_crashes = max_crashes
        self._clock = clock or SystemClock()
        self._monotonic = monotonic
        self._batch_rows = batch_rows
        self._suspects = Suspects(self._timing)
        self._database: str | None = None
        self._connected_before = False
        self.error_delay = self._timing.interval

    def notice_connection(self, listener: Listener) -> None:
        """Take the notifier's word that it has a new connection; all but the first are reconnects."""
        if self._connected_before:
            self._suspects.reconnected()
        self._connected_before = True

    def on_start(self) -> None:
        """Delete lock files that dead clients without running jobs left."""
        try:
            self._database = database_file(self._driver)
            if self._database:
                delete_all_free(self._database, LOCKED)
        except (DatabaseError, OSError):
            logger.exception("old lock files could not be deleted")

    def run_once(self) -> float:
        """Look once, and recover the jobs of clients that are dead by now."""
        try:
            free, server_age = self._look()
            dead = self._suspects.observe(self._monotonic(), free, server_age)
            if dead:
                self.recover(dead)
        except DatabaseError:
            self._suspects.reconnected()
            raise
        return self._timing.interval * random.uniform(0.9, 1.1)  # noqa: S311 - jitter, no secret

    def _look(self) -> tuple[list[str], float | None]:
        statement = liveness.client_list_running(self._driver.sql, self._client_id, LOCKED)
        with self._driver.connect() as connection:
            rows = connection.fetch(statement)
        if self._driver.sql.dialect is Dialect.SQLITE:
            return [row[0] for row in rows if not is_held(self._lock_path(row[0]))], None
        return [row[0] for row in rows if not row[1]], (float(rows[0][2]) if rows else None)

    def recover(self, clients: Sequence[str]) -> int:
        """Give the running jobs of dead `clients` back, in batches; return how many."""
        after, total = 0, 0
        while True:
            rows = self._recover_batch(clients, after)
            total += len(rows)
            if len(rows) < self._batch_rows:
                break
            after = max(row[0] for row in rows)
        self._delete_files(clients)
        return total

    def _recover_batch(self, clients: Sequence[str], after: int) -> list[Row]:
        statement = liveness.job_recover(
            self._driver.sql,
            clients,
            at=self._clock.now(),
            limit=self._batch_rows,
            after=after,
            max_crashes=self._max_crashes,
        )
        with self._driver.connect() as connection, connection.transaction():
            rows = connection.fetch(statement)
            self._announce(connection, rows)
        if rows:
            counts = Counter(str(row[2]) for row in rows)
            ids = ", ".join(f"{row[0]} {row[2]}" for row in rows[:SHOWN_IDS])
            more = ", …" if len(rows) > SHOWN_IDS else ""
            text = "jobs of lost clients were recovered: %s (%s%s)"
            logger.warning(text, dict(counts), ids, more, extra={"clients": clients})
        return rows

    def _announce(self, connection: Connection, rows: Sequence[Row]) -> None:
        queues = dict.fromkeys(row[1] for row in rows if row[2] == JobState.AVAILABLE)
        if queues:
            payloads = [notifications.insert_payload(queue) for queue in queues]
            statement = notifications.notify_many(self._driver.sql, notifications.TOPIC_INSERT, payloads)
            connection.fetch(statement)

    # -- SQLite

    def _lock_path(self, client: str) -> Path:
        if self._database is None:
            self._database = database_file(self._driver)
        return lock_path(self._database, client)

    def _delete_files(self, clients: Sequence[str]) -> None:
        if self._driver.sql.dialect is Dialect.SQLITE:
            for client in clients:
                delete_if_free(self._lock_path(client))
