"""How a worker's child processes are made, bounded and replaced."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from river_core.errors import ConfigurationError

KEEPALIVE_SECONDS = 30.0
FORK, SPAWN = "fork", "spawn"


@dataclass(frozen=True, slots=True)
class ProcessConfig:
    """Options of a process pool.

    `min_size` is how many children stay when there is little to do, None for all; the rest go after
    `keepalive` seconds without a job. A child is replaced after `max_jobs_per_child` jobs, and after a job
    at whose end it holds more than `max_memory_per_child` KiB, unless it began with that much and has not
    grown by a tenth of it.

    `kill_at_stop`: an interruption kills children at once instead of raising JobInterruptedError in them.
    `soft_error` is raised in the running task when a child receives SIGUSR1. `child_started` and
    `child_stopping` are called in each child, with its number; `stage_started` in the fork stage, once, and
    `child_forking` there before each child.
    `start_method` is `fork`, or `spawn` for children that are fresh interpreters; None is `fork`, and on
    macOS `spawn` where `build` is given. `build`, which must be picklable, is called in a spawned child and
    returns the worker that this one is, not started: the child has its tasks and configuration from it.
    `child_told` is called in each child, beside its task, with what `Worker.tell_children` was given.
    """

    min_size: int | None = None
    keepalive: float = KEEPALIVE_SECONDS
    max_jobs_per_child: int | None = None
    max_memory_per_child: int | None = None
    kill_at_stop: bool = False
    soft_error: type[BaseException] | None = None
    start_method: str | None = None
    build: Callable[[], Any] | None = None
    child_name: str = "ForkPoolWorker"
    stage_started: Callable[[], Any] | None = None
    child_forking: Callable[[], Any] | None = None
    child_started: Callable[[int], Any] | None = None
    child_stopping: Callable[[int], Any] | None = None
    child_told: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        """Raise ConfigurationError naming an option that is wrong."""
        for name in ("min_size", "max_jobs_per_child", "max_memory_per_child"):
            value = getattr(self, name)
            if value is not None and value < (0 if name == "min_size" else 1):
                raise ConfigurationError(f"{name} must be a positive number or None, not {value!r}")
        if self.start_method not in (None, FORK, SPAWN):
            raise ConfigurationError(f"start_method is 'fork', 'spawn' or None, not {self.start_method!r}")
        if self.start_method == SPAWN and self.build is None:
            raise ConfigurationError("spawned children need build=, a function that returns this worker anew")

    @property
    def spawns(self) -> bool:
        """Whether children are fresh interpreters."""
        is_default = self.start_method is None and sys.platform == "darwin" and self.build is not None
        return self.start_method == SPAWN or is_default
