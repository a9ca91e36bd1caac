"""What the parts of a worker are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from river_core.client import Client
from river_core.database_clock import DatabaseClock
from river_core.drivers.base import Driver
from river_core.inserting import InsertNotifyLimiter
from river_core.periodic import PeriodicJobs
from river_core.task import Registry
from river_core.worker.completer import Written
from river_core.worker.config import WorkerConfig
from river_core.worker.events import EventBus
from river_core.worker.processes.starting import Starter
from river_core.worker.producer import QueueConfig


@dataclass(frozen=True, slots=True)
class Context:
    """What the parts are made from in one start of a worker."""

    driver: Driver
    registry: Registry
    config: WorkerConfig
    client: Client
    limiter: InsertNotifyLimiter
    events: EventBus
    written: Written
    periodic_jobs: PeriodicJobs
    queues: Mapping[str, QueueConfig]
    stage: Starter | None = None
    """What forks the children, where jobs run in processes."""
    database_clock: DatabaseClock | None = None
    """What lets this process follow the database's clock, unless a test set one."""
