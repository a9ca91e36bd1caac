"""Plugins: code of the application around every insert and every attempt (River: hooks, middleware, plugins).

A plugin overrides the methods it needs; what nobody overrides costs nothing. Those configured first are
outermost, and those of a task come last. This module knows the order; `river_core.insert_plugins` and the
worker call them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from river_core.errors import ConfigurationError
from river_core.insert import InsertParams, InsertResult
from river_core.job import JobState
from river_core.outcome import Outcome
from river_core.task import Job, Registry

InsertOperation = Callable[[list[InsertParams]], list[InsertResult]]
WorkOperation = Callable[[], Outcome | None]
AwaitedWorkOperation = Callable[[], Awaitable[Outcome | None]]


class FinalizeAction(StrEnum):
    """What `job_finalize` may ask for."""

    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Metric:
    """One measured value (River: Metric): `job_get_available_count`, or `…_duration` in seconds."""

    name: str
    value: float
    queue: str


class Plugin:
    """Base of plugins; every method does nothing. One object is called once, however often it is listed.

    Insert methods run in the transaction of the insert: what they raise undoes it, and clients that they
    use insert in it.
    """

    def insert_many(self, params: list[InsertParams], operation: InsertOperation) -> list[InsertResult]:
        """Surround one insert call, of one job or many; call `operation` and return its results."""
        return operation(params)

    def insert_begin(self, params: InsertParams) -> InsertParams | None:
        """See a job before it is written; return a changed one, or None to leave it."""
        return None

    def insert_end(self, result: InsertResult) -> None:
        """See a job after it was written. The last plugin is asked first."""

    def work(self, job: Job, operation: WorkOperation) -> Outcome | None:
        """Surround an attempt with all its hooks; `operation` raises what they raise.

        Returning None hands on what `operation` returned last. Where the task is a coroutine this holds a
        thread until its end; `work_awaited` beside it does not.
        """
        return operation()

    async def work_awaited(self, job: Job, operation: AwaitedWorkOperation) -> Outcome | None:
        """Do as `work` where the task is a coroutine, on the event loop: `operation` is awaited.

        Called instead of `work` when every plugin of the job that has `work` has this too, and
        `Task.is_coroutine` says what the task is.
        """
        return await operation()

    def work_begin(self, job: Job) -> None:
        """See a job before its task runs. Raising fails the attempt; neither task nor `work_end` run then."""

    def work_end(self, job: Job, error: BaseException | None) -> BaseException | None:
        """See how the task ended; return the error that is to count, `error` itself or None included.

        Snooze, cancel and interruption are errors here, and may be returned to be chosen.
        """
        return error

    def job_finalize(self, job: Job, state: JobState) -> FinalizeAction | str | None:
        """See a job that is about to be written as completed; return `delete` to delete its row instead."""
        return None

    def metric_emit(self, metric: Metric) -> None:
        """Take a measured value; called in the thread that claims, so it must not block."""

    def periodic_jobs_start(self) -> None:
        """See that this client was elected and begins with its periodic jobs.

        Raising keeps it from leading: the start is tried again, and then the leadership is given up.
        """


@dataclass(frozen=True, slots=True)
class Hooks:
    """The overridden methods for the jobs of one kind, in the order of configuration."""

    insert_many: tuple[Callable[..., Any], ...]
    insert_begin: tuple[Callable[..., Any], ...]
    insert_end: tuple[Callable[..., Any], ...]
    work: tuple[Callable[..., Any], ...]
    work_awaited: tuple[Callable[..., Any], ...]
    work_begin: tuple[Callable[..., Any], ...]
    work_end: tuple[Callable[..., Any], ...]
    job_finalize: tuple[Callable[..., Any], ...]

    @property
    def blocking(self) -> bool:
        """Whether any plugin surrounds attempts by `work` alone, so that a coroutine's thread must wait."""
        return bool(_owners(self.work) - _owners(self.work_awaited))


class PluginSet:
    """The plugins of a client or worker, and those of the tasks that it knows."""

    def __init__(self, plugins: Iterable[object], registry: Registry | None) -> None:
        """Raises ConfigurationError for what is no Plugin."""
        self.plugins = distinct(plugins)
        self._registry = registry
        self._by_kind: dict[str, Hooks] = {}

    @property
    def any(self) -> bool:
        """Whether there is any plugin at all."""
        return bool(self.plugins) or (self._registry is not None and self._registry.has_plugins)

    def hooks(self, kind: str) -> Hooks:
        """Return the methods for jobs of `kind`."""
        found = self._by_kind.get(kind)
        if found is not None:
            return found
        task = self._registry.get(kind) if self._registry is not None else None
        plugins = distinct((*self.plugins, *task.plugins)) if task is not None else self.plugins
        hooks = Hooks(*(overridden(plugins, name) for name in Hooks.__dataclass_fields__))
        if task is not None:  # a kind that nobody knows may be registered yet, and may be anything
            self._by_kind[kind] = hooks
        return hooks


def _owners(methods: Iterable[Any]) -> set[int]:
    return {id(method.__self__) for method in methods}


def distinct(plugins: Iterable[object]) -> tuple[Plugin, ...]:
    """Return each plugin once, at its first place; raises ConfigurationError for what is none."""
    found: dict[int, Plugin] = {}
    for plugin in plugins:
        if not isinstance(plugin, Plugin):
            raise ConfigurationError(f"plugins takes objects of river_core.Plugin, not {plugin!r}")
        found.setdefault(id(plugin), plugin)
    return tuple(found.values())


def overridden(plugins: Sequence[Plugin], name: str) -> tuple[Callable[..., Any], ...]:
    """Return the methods called `name` of the plugins that have one of their own."""
    inherited = getattr(Plugin, name)
    return tuple(getattr(plugin, name) for plugin in plugins if getattr(type(plugin), name) is not inherited)
