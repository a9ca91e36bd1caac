"""The services that the leader runs, started and stopped together by the elector."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from river_core.client import Client
from river_core.clock import Clock, SystemClock
from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.periodic import PeriodicJobs
from river_core.retry import DefaultRetryPolicy, RetryPolicy
from river_core.schedule import Schedule
from river_core.service import Service
from river_core.task import Registry
from river_core.worker.maintenance import rescuer, scheduler
from river_core.worker.maintenance.custom import CustomService, MaintenanceTask
from river_core.worker.maintenance.job_cleaner import JobCleaner, Retention
from river_core.worker.maintenance.notification_cleaner import NotificationCleaner
from river_core.worker.maintenance.periodic import PeriodicEnqueuer
from river_core.worker.maintenance.queue_cleaner import QueueCleaner
from river_core.worker.maintenance.reindexer import CLEANUP_SECONDS, TIMEOUT_SECONDS, Reindexer
from river_core.worker.maintenance.rescuer import Rescuer, UnknownKinds
from river_core.worker.maintenance.scheduler import Scheduler
from river_core.worker.maintenance.service import QUERY_SECONDS, LeaderService
from river_core.worker.maintenance.snapshots import SnapshotWatch

STOP_SECONDS = 2.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MaintenanceConfig:
    """What a leader needs to know, in seconds where a number is a time."""

    rescue_after: float = 3600.0
    rescue_unknown_kinds: UnknownKinds = UnknownKinds.RETRY
    job_timeout: float | None = 60.0
    retry_policy: RetryPolicy = field(default_factory=DefaultRetryPolicy)
    retention: Retention = field(default_factory=Retention)
    cleaner_timeout: float = QUERY_SECONDS
    reindexer_schedule: Schedule | None = None
    reindexer_index_names: Sequence[str] | None = None
    reindexer_timeout: float | None = TIMEOUT_SECONDS
    custom: Sequence[MaintenanceTask] = ()
    rescuer_interval: float | None = None
    scheduler_interval: float | None = None
    staggered: bool = True


class MaintenanceServices:
    """Everything that one client does while it leads; idle while it does not."""

    def __init__(
        self,
        driver: Driver,
        registry: Registry,
        config: MaintenanceConfig | None = None,
        *,
        allow: Callable[[Collection[str]], Collection[str]] = list,
        clock: Clock | None = None,
        client: Client | None = None,
        periodic_jobs: PeriodicJobs | None = None,
        before_start: Sequence[Callable[[], object]] = (),
    ) -> None:
        """Build the services; `allow` says which queues may be announced now.

        `client` inserts the periodic jobs, and is given to services of the application's own. What
        `before_start` raises keeps the services from starting.
        """
        config, clock = config or MaintenanceConfig(), clock or SystemClock()
        client = client or Client(driver, registry=registry, clock=clock)
        self._before_start = tuple(before_start)
        self.scheduler = Scheduler(
            driver, allow=allow, interval=config.scheduler_interval or scheduler.INTERVAL_SECONDS, clock=clock
        )
        self.rescuer = _rescuer(driver, registry, config, clock)
        self.job_cleaner = JobCleaner(driver, config.retention, timeout=config.cleaner_timeout, clock=clock)
        self.queue_cleaner = QueueCleaner(driver, clock=clock)
        self.reindexer = _reindexer(driver, config, clock)
        self.periodic = PeriodicEnqueuer(driver, periodic_jobs or PeriodicJobs(), client, clock=clock)
        self.services: tuple[Service, ...] = (
            self.scheduler,
            self.rescuer,
            self.job_cleaner,
            self.queue_cleaner,
            self.reindexer,
            self.periodic,
            *(CustomService(service, client, driver, clock) for service in config.custom),
            _of_dialect(driver, clock),
        )
        for service in self.services:
            if not config.staggered and isinstance(service, LeaderService):
                service.start_stagger = 0.0

    @property
    def running(self) -> bool:
        """Whether any service has a thread."""
        return any(service.alive for service in self.services)

    def start(self) -> None:
        """Start all services, after waiting for what is left of an earlier run.

        One of the application's own that does not end is left out; it must not keep this client from leading.
        """
        for hook in self._before_start:
            hook()
        for service in self.services:
            if service.stop(STOP_SECONDS if isinstance(service, CustomService) else None):
                service.start()
            else:
                logger.error("%s still runs since an earlier term and is left out", service.name)

    def stop(self, timeout: float = STOP_SECONDS) -> bool:
        """Ask all services to end and wait up to `timeout` seconds; return whether all have ended.

        One that is still inside a statement ends after it; its work is guarded like everybody's. A rebuild
        of an index that was ended gets the time to drop what it left.
        """
        for service in self.services:
            service.ask_stop()
        until = time.monotonic() + timeout
        ended = [service.join(max(until - time.monotonic(), 0)) for service in self.services]
        if self.reindexer.cleaning:
            ended.append(self.reindexer.join(CLEANUP_SECONDS))
        return all(ended)


def _rescuer(driver: Driver, registry: Registry, config: MaintenanceConfig, clock: Clock) -> Rescuer:
    return Rescuer(
        driver,
        registry,
        rescue_after=config.rescue_after,
        job_timeout=config.job_timeout,
        unknown_kinds=config.rescue_unknown_kinds,
        policy=config.retry_policy,
        interval=config.rescuer_interval or rescuer.INTERVAL_SECONDS,
        clock=clock,
    )


def _reindexer(driver: Driver, config: MaintenanceConfig, clock: Clock) -> Reindexer:
    return Reindexer(
        driver,
        index_names=config.reindexer_index_names,
        schedule=config.reindexer_schedule,
        timeout=config.reindexer_timeout,
        clock=clock,
    )


def _of_dialect(driver: Driver, clock: Clock) -> Service:
    if driver.sql.dialect is Dialect.SQLITE:
        return NotificationCleaner(driver, clock=clock)
    return SnapshotWatch(driver)
