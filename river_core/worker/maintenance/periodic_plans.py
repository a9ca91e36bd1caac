"""What the leader intends with each registered periodic job: when it runs next, and which runs are due.

The next time counts from the planned one, not from when the insert happened.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from river_core.clock import Clock, given_time
from river_core.db import periodic
from river_core.db.maintenance import limit_time
from river_core.db.times import decode_time_or_none
from river_core.drivers.base import Driver
from river_core.periodic import PeriodicJob, PeriodicJobs, Registration
from river_core.schedule import as_next, latest
from river_core.worker.maintenance.service import QUERY_SECONDS

DUE_MARGIN = timedelta(milliseconds=100)
RETRY_SECONDS = 5.0
"""Until a schedule is asked again that gave no time, and until a turn whose inserts failed is repeated."""
LONGEST_WAIT_SECONDS = 60.0
"""A turn comes at least as often, so that a clock that was set is noticed."""

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Plan:
    """What this leader intends with one registration."""

    job: PeriodicJob
    base: datetime
    """The time from which the next run is counted."""
    next_at: datetime | None = None
    """The planned time; None while the schedule gives none."""
    start_at: datetime | None = None
    """The time of the run on start, until it is inserted."""

    def following(self) -> datetime | None:
        """Return the time after `base`; None where the schedule fails, which is logged."""
        try:
            return as_next(self.job.schedule)(self.base)
        except Exception:
            logger.exception("the schedule of a periodic job failed", extra=facts(self.job))
            return None

    def due(self, before: datetime) -> Iterable[Run]:
        """Give the runs that are due before a time: the one on start, and the planned one."""
        if self.start_at is not None:
            yield Run(self, self.start_at, on_start=True)
        if self.next_at is not None and self.next_at < before:
            yield Run(self, self.next_at)


@dataclass(frozen=True, slots=True)
class Run:
    """One run that is due."""

    plan: Plan
    planned_at: datetime
    on_start: bool = False

    @property
    def settles(self) -> str | None:
        """The id whose standing row moves on with this run, if any."""
        return self.plan.job.id if self.plan.job.is_durable and not self.on_start else None

    def end(self) -> None:
        """Plan the next run, now that this one is inserted or left out."""
        if self.on_start:
            self.plan.start_at = None
            return
        self.plan.base = self.planned_at
        self.plan.next_at = self.plan.following()


class Plans:
    """The plans of all registered jobs."""

    def __init__(self, driver: Driver, jobs: PeriodicJobs, clock: Clock) -> None:
        """Plan nothing yet."""
        self._driver = driver
        self._jobs = jobs
        self._clock = clock
        self._plans: dict[int, Plan] = {}

    def clear(self) -> None:
        """Forget what an earlier term intended."""
        self._plans = {}

    def renew(self) -> None:
        """Plan what is new, forget what is gone, and ask again the schedules that gave no time.

        Raises DatabaseError.
        """
        now = self._clock.now()
        registered = {entry.handle: entry for entry in self._jobs.registrations()}
        for handle in self._plans.keys() - registered.keys():
            del self._plans[handle]
        fresh = [entry for handle, entry in registered.items() if handle not in self._plans]
        settled = self._settled(fresh, now)
        for entry in fresh:
            self._plans[entry.handle] = self._planned(entry.job, settled.get(entry.job.id or ""), now)
        for plan in self._plans.values():
            if plan.next_at is None:
                plan.next_at = plan.following()

    def due(self) -> list[Run]:
        """Return the runs that are due now, or so soon that no turn comes before."""
        before = self._clock.now() + DUE_MARGIN
        return [run for plan in self._plans.values() for run in plan.due(before)]

    def seconds_to_next(self) -> float:
        """Return how long no turn is needed."""
        now = self._clock.now()
        times = [plan.next_at for plan in self._plans.values()]
        left = [RETRY_SECONDS if at is None else max((at - now).total_seconds(), 0.0) for at in times]
        return min([LONGEST_WAIT_SECONDS, *left])

    def _settled(self, fresh: Iterable[Registration], now: datetime) -> dict[str, datetime]:
        """Return up to when runs of durable jobs are settled; one that is new counts from now on."""
        ids = [entry.job.id for entry in fresh if entry.job.is_durable and entry.job.id is not None]
        if not ids:
            return {}
        sql = self._driver.sql
        with self._driver.connect() as connection, connection.transaction():
            connection.fetch(limit_time(sql, QUERY_SECONDS))
            rows = connection.fetch(periodic.periodic_get_settled(sql, ids))
            known = {name: moment for name, text in rows if (moment := periodic.decode_settled(text))}
            missing = dict.fromkeys(set(ids) - known.keys(), now)
            if missing:
                connection.fetch(periodic.periodic_settle(sql, missing, given_time(self._clock)))
        return known | missing

    def _planned(self, job: PeriodicJob, settled: datetime | None, now: datetime) -> Plan:
        plan = Plan(job, base=now)
        if settled is not None:
            self._go_on(plan, settled, now)
        if plan.next_at is None:
            plan.next_at = plan.following()
        if job.run_on_start and not (plan.next_at is not None and plan.next_at <= now):
            plan.start_at = now
        return plan

    def _go_on(self, plan: Plan, settled: datetime, now: datetime) -> None:
        """Go on where the last leader was: count from the last run that there was or should have been."""
        plan.base = max(settled, now)
        try:
            missed = latest(plan.job.schedule, settled, now)
            following = as_next(plan.job.schedule)(missed or settled)
        except Exception:
            logger.exception("the schedule of a periodic job failed", extra=facts(plan.job))
            return
        if missed is not None and plan.job.catch_up and not self._inserted_since(plan.job, missed):
            plan.next_at = missed
        elif following > now:
            plan.next_at = following

    def _inserted_since(self, job: PeriodicJob, missed: datetime) -> bool:
        """Tell whether some leader, perhaps one of another language, inserted the job after all."""
        statement = periodic.periodic_get_newest(self._driver.sql, job.id or "")
        with self._driver.connect() as connection:
            [(newest,)] = connection.fetch(statement)
        created_at = decode_time_or_none(newest)
        return created_at is not None and created_at >= missed - DUE_MARGIN


def facts(job: PeriodicJob) -> dict[str, object]:
    """Return what a log line says of a job."""
    return {"periodic_job_id": job.id}
