"""Inserts periodic jobs when they fall due (River: PeriodicJobEnqueuer). Run by the leader only.

All runs of a turn are one transaction. A run is over when its insert has succeeded; until then it stays
due. The next time counts from the planned one, not from when the insert happened.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol, cast

from river_core.clock import Clock, SystemClock
from river_core.db import periodic
from river_core.db.maintenance import limit_time
from river_core.db.times import decode_time_or_none
from river_core.drivers.base import Connection, Driver
from river_core.errors import DatabaseError, RejectedValueError
from river_core.insert import InsertOpts, InsertParams, InsertResult, JobArgs
from river_core.periodic import Constructed, PeriodicJob, PeriodicJobs, Registration
from river_core.schedule import as_next, latest
from river_core.worker.maintenance.service import QUERY_SECONDS, START_STAGGER_SECONDS, LeaderService

DUE_MARGIN = timedelta(milliseconds=100)
RETRY_SECONDS = 5.0
LONGEST_WAIT_SECONDS = 60.0
"""A turn comes at least as often, so that a clock that was set is noticed."""

METADATA_PERIODIC = "periodic"
METADATA_PERIODIC_ID = "river:periodic_job_id"

logger = logging.getLogger(__name__)


class RowInserter(Protocol):
    """The part of a client that writes the jobs."""

    def row_to_insert(self, args: JobArgs, insert_opts: InsertOpts | None, now: datetime) -> InsertParams:
        """Return the checked row of one job; `now` decides the period of a unique one."""
        ...

    def insert_rows_on(self, connection: Connection, rows: Sequence[InsertParams]) -> list[InsertResult]:
        """Write rows in the connection's open transaction."""
        ...


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


@dataclass(frozen=True, slots=True)
class Prepared:
    """A due run and its row; None where the constructor gave nothing."""

    run: Run
    row: InsertParams | None


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
        self._plans: dict[int, Plan] = {}
        self._detach: Callable[[], None] | None = None

    def on_start(self) -> None:
        """Forget earlier plans, and hear of additions."""
        self._plans = {}
        self._detach = self._jobs.attach(self.wake)
        super().on_start()

    def on_stop(self) -> None:
        """Hear of no more additions."""
        if self._detach is not None:
            self._detach()

    def run_once(self) -> float:
        """Plan what is new and insert what is due; return the seconds until the next turn."""
        self._plan(self._clock.now())
        self._plan_again()
        runs = self._due(self._clock.now() + DUE_MARGIN)
        inserted = self._insert_all([self._prepare(run) for run in runs])
        return self._seconds_to_next() if inserted else RETRY_SECONDS

    @property
    def _now(self) -> datetime | None:
        """The time of a clock that a test set; None leaves it to the database."""
        return None if isinstance(self._clock, SystemClock) else self._clock.now()

    # -- planning

    def _plan(self, now: datetime) -> None:
        registered = {entry.handle: entry for entry in self._jobs.registrations()}
        for handle in self._plans.keys() - registered.keys():
            del self._plans[handle]
        fresh = [entry for handle, entry in registered.items() if handle not in self._plans]
        settled = self._settled(fresh, now)
        for entry in fresh:
            self._plans[entry.handle] = self._planned(entry.job, settled.get(entry.job.id or ""), now)

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
                connection.fetch(periodic.periodic_settle(sql, missing, self._now))
        return known | missing

    def _planned(self, job: PeriodicJob, settled: datetime | None, now: datetime) -> Plan:
        plan = Plan(job, base=now)
        if settled is not None:
            self._go_on(plan, settled, now)
        if plan.next_at is None:
            plan.next_at = self._following(plan)
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
            logger.exception("the schedule of a periodic job failed", extra=_facts(plan.job))
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

    def _plan_again(self) -> None:
        for plan in self._plans.values():
            if plan.next_at is None:
                plan.next_at = self._following(plan)

    def _following(self, plan: Plan) -> datetime | None:
        try:
            return as_next(plan.job.schedule)(plan.base)
        except Exception:
            logger.exception("the schedule of a periodic job failed", extra=_facts(plan.job))
            return None

    def _due(self, before: datetime) -> list[Run]:
        runs = []
        for plan in self._plans.values():
            if plan.start_at is not None:
                runs.append(Run(plan, plan.start_at, on_start=True))
            if plan.next_at is not None and plan.next_at < before:
                runs.append(Run(plan, plan.next_at))
        return runs

    def _seconds_to_next(self) -> float:
        now = self._clock.now()
        seconds = LONGEST_WAIT_SECONDS
        for plan in self._plans.values():
            left = RETRY_SECONDS if plan.next_at is None else (plan.next_at - now).total_seconds()
            seconds = min(seconds, max(left, 0.0))
        return seconds

    # -- inserting

    def _prepare(self, run: Run) -> Prepared:
        """Call the constructor; one that fails loses this run and no other."""
        job = run.plan.job
        try:
            constructed = _arguments(job.constructor())
            if constructed is None:
                return Prepared(run, None)
            args, opts = constructed
            row = self._inserter.row_to_insert(args, _with_marks(opts, job), run.planned_at)
        except Exception:
            logger.exception("a periodic job cannot be made, this run is left out", extra=_facts(job))
            return Prepared(run, None)
        return Prepared(run, replace(row, scheduled_at=row.scheduled_at or run.planned_at))

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
                succeeded = [self._insert_all([prepared]) for prepared in due]
                return all(succeeded)
            logger.exception("a periodic job was refused and stays due", extra=_facts(due[0].run.plan.job))
            return False
        for prepared in due:
            self._advance(prepared.run)
        return True

    def _write(self, due: Sequence[Prepared]) -> None:
        sql = self._driver.sql
        until = {name: each.run.planned_at for each in due if (name := each.run.settles) is not None}
        with self._driver.connect() as connection, connection.transaction():
            connection.fetch(limit_time(sql, QUERY_SECONDS))
            ours = self._settle(connection, until)
            rows = _distinct(
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
        statement = periodic.periodic_settle(self._driver.sql, until, self._now)
        ours = {row[0] for row in connection.fetch(statement)}
        if taken := sorted(until.keys() - ours):
            logger.info("another leader has inserted these periodic jobs already: %s", ", ".join(taken))
        return ours

    def _advance(self, run: Run) -> None:
        if run.on_start:
            run.plan.start_at = None
            return
        run.plan.base = run.planned_at
        run.plan.next_at = self._following(run.plan)


def _is_outage(error: Exception) -> bool:
    return isinstance(error, DatabaseError) and not isinstance(error, RejectedValueError)


def _arguments(constructed: Constructed) -> tuple[JobArgs, InsertOpts] | None:
    if constructed is None:
        return None
    if isinstance(constructed, tuple) and not hasattr(constructed, "kind"):
        args, opts = constructed
        return args, opts or InsertOpts()
    return cast(JobArgs, constructed), InsertOpts()


def _with_marks(opts: InsertOpts, job: PeriodicJob) -> InsertOpts:
    marks: dict[str, object] = {METADATA_PERIODIC: True}
    if job.id is not None:
        marks[METADATA_PERIODIC_ID] = job.id
    return replace(opts, metadata={**(opts.metadata or {}), **marks})


def _distinct(rows: Iterable[InsertParams]) -> list[InsertParams]:
    """Leave out rows whose unique key an earlier one of the same turn has: they would be duplicates of it."""
    kept: list[InsertParams] = []
    keys: set[bytes] = set()
    for row in rows:
        if row.unique_key is not None and row.unique_key in keys:
            continue
        if row.unique_key is not None:
            keys.add(row.unique_key)
        kept.append(row)
    return kept


def _facts(job: PeriodicJob) -> dict[str, object]:
    return {"periodic_job_id": job.id}
