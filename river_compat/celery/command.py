"""What the worker command needs: options checked, modules imported, a River worker built."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from river_compat.celery.exceptions import ImproperlyConfigured, unsupported
from river_compat.celery.message import FRAMEWORK
from river_compat.celery.retention import kept_results
from river_compat.celery.runner import CeleryRunner
from river_compat.worker import WorkerPlan
from river_compat.worker import build_worker as build_river_worker

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_core import Worker

THREADS = "threads"
SOLO = "solo"
_REFUSED_POOLS = {
    "prefork": "it is not implemented yet; use -P threads, or several workers with -P solo",
    "processes": "it is not implemented yet; use -P threads, or several workers with -P solo",
    "gevent": "use -P threads: a thread costs nothing while its task waits for the network",
    "eventlet": "use -P threads: a thread costs nothing while its task waits for the network",
    "custom": "use -P threads or -P solo",
}


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of the worker command; None leaves the choice to the settings.

    `queues` and `exclude_queues` are names, `include` modules to import beside those of the
    settings, `hostname` the id that rows are claimed under, `poll_only` True keeps it from listening.
    """

    queues: Sequence[str] = ()
    exclude_queues: Sequence[str] = ()
    concurrency: int | None = None
    pool: str | None = None
    hostname: str | None = None
    include: Sequence[str] = ()
    poll_only: bool = False


def build_worker(app: Celery, options: WorkerOptions | None = None) -> Worker:
    """Import the application's task modules and return a worker for its queues, not started.

    The worker shares the application's driver; `app.close()` closes it. Raises UnsupportedFeature for
    a pool that does not exist here, ImproperlyConfigured for wrong values.
    """
    options = options or WorkerOptions()
    pool = pool_name(app, options)
    app.set_current()
    app.set_default()
    app.import_default_modules(options.include)
    app.finalize()
    plan = WorkerPlan(
        queues=worked_queues(app, options),
        slots=1 if pool == SOLO else concurrency(app, options),
        id=options.hostname,
        main_thread=pool == SOLO,
        refresh_attempts_after=app.conf.river_refresh_attempts_after,
        poll_only=options.poll_only or bool(app.conf.river_poll_only),
        plugins=app.conf.river_plugins,
        kept=kept_results(app.conf),
    )
    return build_river_worker(app.runtime.driver, {FRAMEWORK: CeleryRunner(app)}, plan)


def pool_name(app: Celery, options: WorkerOptions) -> str:
    """Return `threads` or `solo`; threads when nothing is said."""
    name = options.pool or app.conf.worker_pool or THREADS
    if name in _REFUSED_POOLS:
        raise unsupported(f"the pool {name!r}", _REFUSED_POOLS[name])
    if name not in (THREADS, SOLO):
        raise ImproperlyConfigured(f"no pool is named {name!r}; use 'threads' or 'solo'")
    return name


def concurrency(app: Celery, options: WorkerOptions) -> int:
    """Return how many tasks run at once: as told, else one for each processor."""
    given = options.concurrency if options.concurrency is not None else app.conf.worker_concurrency
    if given in (None, 0, "auto"):
        return os.cpu_count() or 1
    try:
        number = int(given)
    except (TypeError, ValueError) as error:
        raise ImproperlyConfigured(f"the concurrency must be a number, not {given!r}") from error
    if number < 1:
        raise ImproperlyConfigured(f"the concurrency must be at least 1, not {number}")
    return number


def worked_queues(app: Celery, options: WorkerOptions) -> list[str]:
    """Return the queues to work: those asked for, else those of the settings, less the excluded."""
    names = options.queues or app.queue_names()
    queues = [name for name in dict.fromkeys(names) if name not in options.exclude_queues]
    if not queues:
        raise ImproperlyConfigured("no queue is left to work; check -Q and -X")
    return queues
