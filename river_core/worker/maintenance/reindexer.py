"""Rebuilds River's indexes now and then, which bloat under many updates (River: Reindexer).

On Postgres beside the running work and outside any transaction. What an interrupted rebuild leaves
behind is dropped when this client stops; found at another time, it means that a rebuild failed, and the
index is left to an operator.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from river_core.clock import Clock, SystemClock
from river_core.db import indexes
from river_core.db.statement import Dialect, Statement
from river_core.drivers.base import Driver
from river_core.errors import DatabaseError
from river_core.schedule import Schedule, as_next
from river_core.worker.maintenance.service import LeaderService

TIMEOUT_SECONDS = 60.0
CLEANUP_SECONDS = 15.0
LONGEST_WAIT_SECONDS = 60.0
UNLIMITED = -1
END_TRIES = 20
END_PAUSE_SECONDS = 0.1

DEFAULT_INDEXES = (
    "river_job_args_index",
    "river_job_kind",
    "river_job_metadata_index",
    "river_job_pkey",
    "river_job_prioritized_fetching_index",
    "river_job_state_and_finalized_at_index",
    "river_job_unique_idx",
)
ONLY_ON_POSTGRES = frozenset({"river_job_args_index", "river_job_metadata_index", "river_job_pkey"})

logger = logging.getLogger(__name__)


class MidnightSchedule:
    """Runs at each midnight UTC (River: DefaultReindexerSchedule)."""

    def next(self, moment: datetime) -> datetime:
        """Return the next midnight."""
        day = moment.astimezone(UTC) + timedelta(days=1)
        return day.replace(hour=0, minute=0, second=0, microsecond=0)


class Reindexer(LeaderService):
    """Rebuilds one index after the other at the times of a schedule."""

    def __init__(
        self,
        driver: Driver,
        *,
        index_names: Sequence[str] | None = None,
        schedule: Schedule | None = None,
        timeout: float | None = TIMEOUT_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        """Rebuild `index_names`, None for River's own list, an empty one for none.

        One rebuild may take `timeout` seconds, on Postgres; None or -1 is without limit.
        """
        super().__init__("river-reindexer")
        self._driver = driver
        self._names = _default_names(driver) if index_names is None else tuple(index_names)
        self._following = as_next(schedule or MidnightSchedule())
        self._timeout = None if timeout == UNLIMITED else timeout
        self._clock = clock or SystemClock()
        self._next_at: datetime | None = None
        self._running: Statement | None = None
        self.cleaning = False
        """Whether it drops what an ended rebuild has left."""

    def on_start(self) -> None:
        """Plan from now on."""
        self._next_at = None
        super().on_start()

    def ask_stop(self) -> None:
        """Ask to end, and end a rebuild that is under way."""
        super().ask_stop()
        statement = self._running
        if statement is not None and not self.cleaning:
            self._timer(statement, 0)

    def run_once(self) -> float | None:
        """Rebuild when it is time; return the seconds until the next look, None where there is no index."""
        if not self._names:
            return None
        now = self._clock.now()
        if self._next_at is None:
            self._next_at = self._following(now)
        elif self._next_at <= now:
            due, self._next_at = self._next_at, None
            self._next_at = self._following(due)
            self.rebuild_all()
        left = (self._next_at - self._clock.now()).total_seconds()
        return min(max(left, 0.0), LONGEST_WAIT_SECONDS)

    def rebuild_all(self) -> None:
        """Rebuild every index that exists; one that fails is logged and the next one is taken."""
        for name in self._existing():
            if self.stopping:
                return
            try:
                self._rebuild(name)
            except DatabaseError:
                logger.exception("rebuilding an index failed", extra={"index": name})
                if self.stopping:
                    self._clean_up(name)

    def _existing(self) -> list[str]:
        with self._driver.connect() as connection:
            rows = connection.fetch(indexes.index_get_existing(self._driver.sql, self._names))
        found = {row[0] for row in rows}
        if missing := [name for name in self._names if name not in found]:
            logger.warning("these indexes do not exist and are not rebuilt: %s", ", ".join(missing))
        return [name for name in self._names if name in found]

    def _rebuild(self, name: str) -> None:
        if left := self._artifacts(name):
            logger.warning(
                "an earlier rebuild of %s failed and left %s; drop what it left, and rebuild by hand",
                name,
                ", ".join(left),
            )
            return
        self._run(indexes.index_rebuild(self._driver.sql, name), self._timeout)
        logger.info("an index was rebuilt", extra={"index": name})

    def _artifacts(self, name: str) -> list[str]:
        with self._driver.connect() as connection:
            return [row[0] for row in connection.fetch(indexes.index_get_artifacts(self._driver.sql, name))]

    def _clean_up(self, name: str) -> None:
        """Drop what the ended rebuild left, or the index would never be rebuilt again."""
        self.cleaning, until = True, time.monotonic() + CLEANUP_SECONDS
        try:
            for artifact in self._artifacts(name):
                statement = indexes.index_drop(self._driver.sql, artifact)
                self._run(statement, max(until - time.monotonic(), 0.1))
        except DatabaseError:
            logger.exception("what an ended rebuild left was not dropped", extra={"index": name})
        finally:
            self.cleaning = False

    # -- statements outside a transaction. They are ended from another connection: a time-out of the session
    #    might stay behind on a connection of a pooler.

    def _run(self, statement: Statement, seconds: float | None) -> None:
        timer = self._timer(statement, seconds)
        self._running = statement
        try:
            if self.stopping and not self.cleaning:
                return
            with self._driver.connect() as connection:
                connection.fetch(statement)
        finally:
            self._running = None
            if timer is not None:
                timer.cancel()

    def _timer(self, statement: Statement, seconds: float | None) -> threading.Timer | None:
        if seconds is None or self._driver.sql.dialect is Dialect.SQLITE:
            return None
        timer = threading.Timer(seconds, self._end, [statement])
        timer.daemon = True
        timer.start()
        return timer

    def _end(self, statement: Statement) -> None:
        """End a statement; more than once, since it may not have reached the server yet."""
        for _ in range(END_TRIES):
            if self._running is not statement:
                return
            try:
                with self._driver.connect() as connection:
                    connection.fetch(indexes.index_cancel(self._driver.sql, statement))
            except DatabaseError as error:
                logger.warning("a rebuild of an index could not be ended: %s", error)
            time.sleep(END_PAUSE_SECONDS)


def _default_names(driver: Driver) -> tuple[str, ...]:
    if driver.sql.dialect is Dialect.POSTGRES:
        return DEFAULT_INDEXES
    return tuple(name for name in DEFAULT_INDEXES if name not in ONLY_ON_POSTGRES)
