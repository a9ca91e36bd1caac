"""The pools of the worker command: which there are, and the child processes that the settings ask for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from river_compat.celery import child_process, spawned
from river_compat.celery.exceptions import ImproperlyConfigured, SoftTimeLimitExceeded, unsupported
from river_compat.celery.worker_life import default_hostname
from river_core import ProcessConfig

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.command import WorkerOptions

PREFORK = "prefork"
THREADS = "threads"
SOLO = "solo"
POOLS = (PREFORK, THREADS, SOLO)
_SAME_AS = {"processes": PREFORK}
_GREEN = "use -P threads: a thread costs nothing while its task waits for the network, or `async def` tasks"
_REFUSED = {
    "gevent": _GREEN,
    "eventlet": _GREEN,
    "custom": "use -P prefork, -P threads or -P solo",
}


def checked_pool(name: Any) -> str:
    """Return the name of a pool; raises UnsupportedFeature or ImproperlyConfigured for one not here."""
    name = _SAME_AS.get(name, name) or PREFORK
    if name in _REFUSED:
        raise unsupported(f"the pool {name!r}", _REFUSED[name])
    if name not in POOLS:
        raise ImproperlyConfigured(f"no pool is named {name!r}; use 'prefork', 'threads' or 'solo'")
    return str(name)


@dataclass(frozen=True, slots=True)
class Autoscale:
    """How many children there are at most and at least."""

    most: int
    least: int

    @classmethod
    def read(cls, text: str) -> Autoscale:
        """Read `max,min`, or `max`; raises ImproperlyConfigured."""
        first, _, second = text.partition(",")
        try:
            most, least = int(first), int(second or 0)
        except ValueError as error:
            raise ImproperlyConfigured(f"--autoscale takes MAX,MIN, as in 10,3, not {text!r}") from error
        if most < 1 or not 0 <= least <= most:
            raise ImproperlyConfigured(f"--autoscale takes MAX,MIN with MAX the larger, not {text!r}")
        return cls(most, least)


def process_config(
    app: Celery, options: WorkerOptions, least: int | None, in_child: Callable[[Celery], object] | None
) -> ProcessConfig:
    """Return how the children of the prefork pool are made; raises ImproperlyConfigured."""
    conf, method = app.conf, spawned.start_method(app)
    max_tasks, max_memory = options.max_tasks_per_child, options.max_memory_per_child
    children = child_process.ChildProcess(app, options.hostname or default_hostname())
    may_spawn = method == spawned.SPAWN or (method is None and sys.platform == "darwin")
    return ProcessConfig(
        start_method=method,
        build=spawned.SpawnedWorker.of(app, options, in_child) if may_spawn else None,
        child_name="SpawnPoolWorker" if may_spawn else "ForkPoolWorker",
        min_size=least,
        max_jobs_per_child=_positive(
            "worker_max_tasks_per_child", max_tasks, conf.worker_max_tasks_per_child
        ),
        max_memory_per_child=_positive(
            "worker_max_memory_per_child", max_memory, conf.worker_max_memory_per_child
        ),
        kill_at_stop=True,
        soft_error=SoftTimeLimitExceeded,
        stage_started=children.forked,
        child_forking=children.forking,
        child_started=children.started,
        child_stopping=children.stopping,
        child_told=children.told,
    )


def _positive(name: str, option: Any, setting: Any) -> int | None:
    """Return a number, or None where none is given; raises ImproperlyConfigured for what is none."""
    value = setting if option is None else option
    if not value:
        return None
    try:
        number = int(value)
    except (TypeError, ValueError) as error:
        raise ImproperlyConfigured(f"{name} must be a number, not {value!r}") from error
    if number < 1:
        raise ImproperlyConfigured(f"{name} must be at least 1, not {number}")
    return number
