"""Builds the River worker behind an adapter's worker command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from river_compat.envelope import KIND
from river_compat.expired import ExpiredResults, Kept
from river_compat.python_task import FrameworkRunner, PythonTask
from river_core import Companion, ProcessConfig, QueueConfig, Worker, WorkerConfig
from river_core.drivers.base import Driver
from river_core.task import Registry, Task

ADAPTER_FETCH_COOLDOWN = 0.001
DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """What an adapter's worker command asks for.

    `slots` bounds all queues together; `main_thread` runs one task at a time in the main thread,
    `processes` each in a child process;
    `poll_only` never listens. `refresh_attempts_after`, `abandon_without_lock`, `durable_claims`,
    `plugins` and `companions` are those of `river_core.WorkerConfig`.
    """

    queues: Sequence[str]
    slots: int
    id: str | None = None
    main_thread: bool = False
    processes: ProcessConfig | None = None
    refresh_attempts_after: float = 0.0
    abandon_without_lock: bool = True
    poll_only: bool = False
    durable_claims: bool = True
    plugins: Sequence[object] = ()
    companions: Sequence[Companion] = ()
    kept: Kept | None = None
    """For how long finished rows of tasks are kept; None is River's own retention."""


def build_worker(
    driver: Driver, runners: Mapping[str, FrameworkRunner], plan: WorkerPlan, native: Sequence[Task] = ()
) -> Worker:
    """Return a worker for the rows of adapters and of `native` tasks, not started.

    It claims only kinds that it knows, so that it can share queues with other languages, and claims
    again as soon as a slot is free. Raises ConfigurationError.
    """
    registry = Registry().add(PythonTask(runners))
    for task in native:
        registry.add(task)
    queues = {name: QueueConfig(plan.slots, fetch_cooldown=ADAPTER_FETCH_COOLDOWN) for name in plan.queues}
    config = WorkerConfig(
        queues=queues,
        lenient_queue_names=True,
        id=plan.id,
        max_workers=plan.slots,
        fetch_cooldown=ADAPTER_FETCH_COOLDOWN,
        fetch_only_known_kinds=True,
        job_timeout=None,
        notify_kind=KIND,
        claim_ahead=True,
        durable_claims=plan.durable_claims,
        main_thread=plan.main_thread,
        processes=plan.processes,
        refresh_attempts_after=plan.refresh_attempts_after,
        abandon_without_lock=plan.abandon_without_lock,
        poll_only=plan.poll_only,
        plugins=plan.plugins,
        companions=plan.companions,
        **_retention(plan.kept),
    )
    return Worker(driver, registry, config)


def _retention(kept: Kept | None) -> dict[str, Any]:
    """Return the options that keep results long enough for all kinds, and tasks' no longer than wanted."""
    if kept is None:
        return {}
    ended = _longer(DAY_SECONDS, kept.ended)
    return {
        "cancelled_job_retention_period": ended,
        "completed_job_retention_period": ended,
        "discarded_job_retention_period": _longer(7 * DAY_SECONDS, kept.failed),
        "maintenance_services": (ExpiredResults(kept),),
    }


def _longer(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)
