"""What the worker command needs: options checked, modules imported, a River worker built."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.message import FRAMEWORK
from river_compat.celery.pools import PREFORK, SOLO, Autoscale, checked_pool, process_config
from river_compat.celery.retention import kept_results
from river_compat.celery.runner import CeleryRunner
from river_compat.celery.time_limits import TimeLimits, seconds_of
from river_compat.celery.utils.nodenames import default_nodename
from river_compat.celery.utils.sysinfo import available_cpu_count, cpu_budget, is_auto_concurrency
from river_compat.worker import WorkerPlan
from river_compat.worker import build_worker as build_river_worker

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_core import Companion, ProcessConfig, Worker

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of the worker command; None leaves the choice to the settings.

    `queues` and `exclude_queues` are names, `include` modules to import beside those of the
    settings, `hostname` the id that rows are claimed under, `poll_only` True keeps it from listening.
    Time limits are seconds, `max_memory_per_child` KiB, `autoscale` is `max,min` children,
    `pool_start_method` fork or spawn.
    """

    queues: Sequence[str] = ()
    exclude_queues: Sequence[str] = ()
    concurrency: int | str | None = None
    pool: str | None = None
    hostname: str | None = None
    include: Sequence[str] = ()
    poll_only: bool = False
    time_limit: float | None = None
    soft_time_limit: float | None = None
    max_tasks_per_child: int | None = None
    max_memory_per_child: int | None = None
    pool_start_method: str | None = None
    autoscale: str | None = None


def build_worker(
    app: Celery,
    options: WorkerOptions | None = None,
    imported: Callable[[], object] | None = None,
    in_child: Callable[[Celery], object] | None = None,
) -> Worker:
    """Import the application's task modules and return a worker for its queues, not started.

    `imported` is called between the two, and may still change settings; `in_child`, which must be
    picklable, at the same place in child processes that import the application anew.

    The worker shares the application's driver; `app.close()` closes it. Raises UnsupportedFeature for
    a pool that does not exist here, ImproperlyConfigured for wrong values.
    """
    options = options or WorkerOptions()
    pool = pool_name(app, options)
    autoscale = Autoscale.read(options.autoscale) if options.autoscale else None
    _set(app, options)
    app.set_current()
    app.set_default()
    app.import_default_modules(options.include)
    app.finalize()
    if imported is not None:
        imported()
    hostname = default_nodename(options.hostname)
    runner = CeleryRunner(app, time_limits(app, options))
    plan = WorkerPlan(
        queues=worked_queues(app, options),
        slots=_slots(app, options, pool, autoscale),
        id=hostname,
        main_thread=pool == SOLO,
        processes=_processes(app, options, pool, autoscale, in_child),
        refresh_attempts_after=app.conf.river_refresh_attempts_after,
        abandon_without_lock=_ends_tasks_without_lock(app),
        poll_only=options.poll_only or bool(app.conf.river_poll_only),
        durable_claims=bool(app.conf.river_durable_claims),
        plugins=app.conf.river_plugins,
        companions=(_remote_control(app, hostname, pool, runner),),
        kept=kept_results(app.conf),
    )
    return build_river_worker(app.runtime.driver, {FRAMEWORK: runner}, plan)


def _remote_control(app: Celery, hostname: str, pool: str, runner: CeleryRunner) -> Companion:
    from river_compat.celery.worker.announcing import Announcing  # celery.worker needs this module
    from river_compat.celery.worker.commands import stop_process
    from river_compat.celery.worker.remote import RemoteControl

    return RemoteControl(app, hostname, pool, stop_process, Announcing(runner, pool == PREFORK))


def _ends_tasks_without_lock(app: Celery) -> bool:
    """Whether tasks end when the worker has lost the database: unless that was set to False on purpose."""
    name = "worker_cancel_long_running_tasks_on_connection_loss"
    return bool(app.conf[name]) or not app.conf.is_set(name)


def pool_name(app: Celery, options: WorkerOptions) -> str:
    """Return `prefork`, `threads` or `solo`; prefork when nothing is said."""
    return checked_pool(options.pool or app.conf.worker_pool)


def time_limits(app: Celery, options: WorkerOptions) -> TimeLimits:
    """Return the limits of tasks without their own; raises ImproperlyConfigured."""
    conf = app.conf
    soft = conf.task_soft_time_limit if options.soft_time_limit is None else options.soft_time_limit
    hard = conf.task_time_limit if options.time_limit is None else options.time_limit
    return TimeLimits(seconds_of("task_soft_time_limit", soft), seconds_of("task_time_limit", hard))


def _set(app: Celery, options: WorkerOptions) -> None:
    """Let options of the command stand for settings, of which tasks take over limits when they are made."""
    if options.pool_start_method is not None:
        app.conf["worker_pool_start_method"] = options.pool_start_method
    if options.time_limit is not None:
        app.conf["task_time_limit"] = options.time_limit
    if options.soft_time_limit is not None:
        app.conf["task_soft_time_limit"] = options.soft_time_limit


def _slots(app: Celery, options: WorkerOptions, pool: str, autoscale: Autoscale | None) -> int:
    if pool == SOLO:
        return 1
    return concurrency(app, options) if autoscale is None else autoscale.most


def _processes(
    app: Celery,
    options: WorkerOptions,
    pool: str,
    autoscale: Autoscale | None,
    in_child: Callable[[Celery], object] | None,
) -> ProcessConfig | None:
    if pool == PREFORK:
        return process_config(app, options, None if autoscale is None else autoscale.least, in_child)
    asked = (
        options.max_tasks_per_child or app.conf.worker_max_tasks_per_child,
        options.max_memory_per_child or app.conf.worker_max_memory_per_child,
    )
    if any(asked):
        logger.warning("the pool %s has no child processes, so none is replaced: use -P prefork", pool)
    return None


def concurrency(app: Celery, options: WorkerOptions) -> int:
    """Return how many tasks run at once: as told, else one for each processor.

    With `auto` no more than the quota of the control group allows, unless tasks run in threads.
    """
    given = options.concurrency if options.concurrency is not None else app.conf.worker_concurrency
    if is_auto_concurrency(given):
        return _concurrency_here(pool_name(app, options))
    if given in (None, 0):
        return available_cpu_count()
    try:
        number = int(given)
    except (TypeError, ValueError) as error:
        raise ImproperlyConfigured(f"the concurrency must be a number, not {given!r}") from error
    if number < 1:
        raise ImproperlyConfigured(f"the concurrency must be at least 1, not {number}")
    return number


def _concurrency_here(pool: str) -> int:
    found = cpu_budget(use_cgroup_quota=pool == PREFORK)
    text = "worker_concurrency='auto' resolved to %d (pool=%s, available_cpus=%d, cgroup_quota=%s)"
    logger.info(text, found.count, pool, found.available, found.quota)
    return found.count


def worked_queues(app: Celery, options: WorkerOptions) -> list[str]:
    """Return the queues to work: those asked for, else those of the settings, less the excluded."""
    names = options.queues or app.queue_names()
    queues = [name for name in dict.fromkeys(names) if name not in options.exclude_queues]
    if not queues:
        raise ImproperlyConfigured("no queue is left to work; check -Q and -X")
    return queues
