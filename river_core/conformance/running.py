"""The one worker that `start` starts: its configuration, its observations and its end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from river_core.conformance.barriers import Barriers
from river_core.conformance.behaviours import EchoTask
from river_core.conformance.database import COOLDOWN_SECONDS
from river_core.conformance.failures import invalid_params, rejected
from river_core.conformance.observed import Observed
from river_core.conformance.params import Start, WorkerKind
from river_core.conformance.requests import echo_args
from river_core.drivers.base import Driver
from river_core.insert import QUEUE_DEFAULT, EncodedArgs, InsertOpts
from river_core.job import JobRow
from river_core.parity import Parity
from river_core.periodic import PeriodicJob
from river_core.retry import DefaultRetryPolicy
from river_core.schedule import IntervalSchedule
from river_core.task import Registry
from river_core.unique import UniqueOpts
from river_core.worker.config import WorkerConfig
from river_core.worker.internals import Internals
from river_core.worker.worker import Worker

STOP_SECONDS = 8.0
"""The contract allows 10 for a stop."""
MAX_WORKERS_DEFAULT = 4
POLL_DEFAULT_MS = 1000
HOUR_SECONDS = 3600.0
ALIASES = {WorkerKind.RENAMED: (WorkerKind.ECHO.value,)}


@dataclass(frozen=True, slots=True)
class FixedRetry:
    """Runs every failed job again after the same delay, in seconds."""

    delay: float

    def next_retry(self, job: JobRow, now: datetime) -> datetime:
        """Return `now` plus the delay."""
        return now + timedelta(seconds=self.delay)


class Running:
    """A started worker."""

    def __init__(self, driver: Driver, params: Start, barriers: Barriers) -> None:
        """Start it; raises RiverError or CodedError, and nothing runs then."""
        self.observed = Observed()
        self._barriers = barriers
        self._claim_barrier = params.claim_barrier
        config = worker_config(params, barriers, self.observed)
        self._worker = Worker(driver, _registry(params, barriers), config)
        self.observed.follow(self._worker.events)
        try:
            self._worker.start()
        except BaseException:
            self._worker.events.close()
            raise

    def stop(self, cancel: bool) -> None:
        """Stop it, without waiting for its jobs if `cancel`; frees a claim that is held.

        Raises CodedError where jobs of a stop that waits did not end in time; they are given back.
        """
        if self._claim_barrier:
            self._barriers.release(self._claim_barrier)
        if cancel:
            self._worker.stop_and_cancel(STOP_SECONDS)
        elif not self._worker.stop(STOP_SECONDS):
            raise rejected(f"jobs did not end within {STOP_SECONDS:g} s and were given back")


def _registry(params: Start, barriers: Barriers) -> Registry:
    registry = Registry()
    for kind in params.worker_kinds or [WorkerKind.ECHO]:
        registry.add(EchoTask(kind.value, ALIASES.get(kind, ()), barriers))
    return registry


def worker_config(params: Start, barriers: Barriers, observed: Observed) -> WorkerConfig:
    """Return the configuration that `start` asks for, with Go's rules and without any stagger."""
    if params.periodic_unique and not params.periodic_run_on_start:
        raise invalid_params("periodic_unique needs periodic_run_on_start")
    workers = params.max_workers or MAX_WORKERS_DEFAULT
    delay = params.retry_delay_ms
    return WorkerConfig(
        id=params.client_id or None,
        queues=dict.fromkeys(params.queues or [QUEUE_DEFAULT], workers),
        fetch_cooldown=COOLDOWN_SECONDS,
        fetch_poll_interval=(params.fetch_poll_interval_ms or POLL_DEFAULT_MS) / 1000,
        fetch_only_known_kinds=params.fetch_only_known_kinds,
        job_timeout=params.job_timeout_ms / 1000,
        rescue_stuck_jobs_after=params.rescue_after_ms / 1000,
        retry_policy=FixedRetry(delay / 1000) if delay > 0 else DefaultRetryPolicy(),
        poll_only=params.poll_only,
        leader_election_disabled=params.leader_election_disabled,
        periodic_jobs=_periodic_jobs(params),
        plugins=(observed,),
        error_handler=observed.cancel_failed if params.error_handler_cancel else None,
        parity=Parity.GO,
        internals=_internals(params, barriers),
    )


def _internals(params: Start, barriers: Barriers) -> Internals:
    barrier = params.claim_barrier
    return Internals(
        exact_id=True,
        staggered=False,
        elect_interval=_seconds(params.tuning.elect_interval_ms),
        rescuer_interval=_seconds(params.tuning.rescuer_interval_ms),
        scheduler_interval=_seconds(params.tuning.scheduler_interval_ms),
        claimed=barriers.hold_first(barrier) if barrier else None,
    )


def _seconds(milliseconds: int) -> float | None:
    return milliseconds / 1000 if milliseconds > 0 else None


def _periodic_jobs(params: Start) -> list[PeriodicJob]:
    if not params.periodic_run_on_start:
        return []
    unique = UniqueOpts(by_args=True, by_queue=True) if params.periodic_unique else None
    jobs = [_periodic_job("conformance-periodic", "periodic run on start", unique)]
    if unique is not None:
        jobs.append(_periodic_job("conformance-periodic-marker", "periodic marker", None))
    return jobs


def _periodic_job(periodic_id: str, message: str, unique: UniqueOpts | None) -> PeriodicJob:
    def constructor() -> tuple[EncodedArgs, InsertOpts]:
        return echo_args(message=message), InsertOpts(metadata={"periodic": True}, unique_opts=unique)

    schedule = IntervalSchedule(HOUR_SECONDS)
    return PeriodicJob(schedule, constructor, id=periodic_id, run_on_start=True, durable=False)
