"""Inserts periodic jobs when they fall due (River: PeriodicJobEnqueuer). Run by the leader only.

All runs of a turn are one transaction. A run is over when its insert has succeeded; until then it stays
due.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from river_core.clock import Clock, SystemClock, given_time
from river_core.db import periodic
from river_core.db.maintenance import limit_time
from river_core.drivers.base import Connection, Driver
from river_core.errors import DatabaseError, RejectedValueError
from river_core.periodic import PeriodicJobs
from river_core.worker.maintenance.periodic_plans import RETRY_SECONDS, Plans, facts
from river_core.worker.maintenance.periodic_rows import Prepared, RowInserter, distinct, prepared
from river_core.worker.maintenance.service import QUERY_SECONDS, START_STAGGER_SECONDS, LeaderService

logger = logging.getLogger(__name__)


class PeriodicEnqueuer(LeaderService):
    """Plans the registered jobs anew at each start, and inserts them one by one as they fall due."""

    def __init__(
        self,
        driver: Driver,
        jobs: PeriodicJobs,
        inserter: RowInserter,
        *,
        clock: Clock | None = None,
        stagger: float = START_STAGGER_SECONDS,
    ) -> None:
        """Insert `jobs` through `inserter`; the first turn comes within `stagger` seconds of the start."""
        super().__init__("river-periodic")
        self.error_delay = RETRY_SECONDS
        self._driver = driver
        self._jobs = jobs
        self._inserter = inserter
        self._clock = clock or SystemClock()
        self.start_stagger = stagger
        self._plans = Plans(driver, jobs, self._clock)
        self._detach: Callable[[], None] | None = None

    def on_start(self) -> None:
        """Forget earlier plans, and hear of additions."""
        self._plans.clear()
        self._detach = self._jobs.attach(self.wake)
        super().on_start()

    def on_stop(self) -> None:
        """Hear of no more additions."""
        if self._detach is not None:
            self._detach()

    def run_once(self) -> float:
        """Plan what is new and insert what is due; return the seconds until the next turn."""
        self._plans.renew()
        due = [prepared(run, self._inserter) for run in self._plans.due()]
        return self._plans.seconds_to_next() if self._insert_all(due) else RETRY_SECONDS

    def _insert_all(self, due: Sequence[Prepared]) -> bool:
        """Insert all or none; return whether that succeeded.

        Where it is not the database that is out of reach, but one of the jobs that is refused, each is
        inserted alone, so that it holds up no other.
        """
        if not due or self.stopping:
            return True
        try:
            self._write(due)
        except Exception as error:
            if _is_outage(error):
                logger.warning("%d periodic jobs were not inserted and stay due: %s", len(due), error)
                return False
            if len(due) > 1:
                succeeded = [self._insert_all([each]) for each in due]
                return all(succeeded)
            logger.exception("a periodic job was refused and stays due", extra=facts(due[0].run.plan.job))
            return False
        for each in due:
            each.run.end()
        return True

    def _write(self, due: Sequence[Prepared]) -> None:
        sql = self._driver.sql
        until = {name: each.run.planned_at for each in due if (name := each.run.settles) is not None}
        with self._driver.connect() as connection, connection.transaction():
            connection.fetch(limit_time(sql, QUERY_SECONDS))
            ours = self._settle(connection, until)
            rows = distinct(
                each.row
                for each in due
                if each.row is not None and (each.run.settles is None or each.run.settles in ours)
            )
            if rows:
                self._inserter.insert_rows_on(connection, rows)
        logger.debug("%d periodic jobs were inserted", len(rows))

    def _settle(self, connection: Connection, until: Mapping[str, datetime]) -> set[str]:
        """Claim runs of durable jobs; what another leader has inserted already is not returned."""
        if not until:
            return set()
        statement = periodic.periodic_settle(self._driver.sql, until, given_time(self._clock))
        ours = {row[0] for row in connection.fetch(statement)}
        if taken := sorted(until.keys() - ours):
            logger.info("another leader has inserted these periodic jobs already: %s", ", ".join(taken))
        return ours


def _is_outage(error: Exception) -> bool:
    return isinstance(error, DatabaseError) and not isinstance(error, RejectedValueError)
