"""What runs a job: tasks by kind.

River calls a task a worker; here `Task` works one kind and `Registry` is River's Workers bundle.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from river_core.errors import (
    ConfigurationError,
    JobLostError,
    JobTimeoutError,
    RiverError,
)
from river_core.job import JobRow
from river_core.job_handle import Job as Job
from river_core.links import Break, HandOver
from river_core.loss import Loss, ProcessDied, Terminated, TimeLimitReached, WorkerStopped, signal_name
from river_core.outcome import Cancelled, Failed, Interrupted, Outcome

KIND_PATTERN = re.compile(r"\w[\w\-\[\]<>/.·:+]+", re.ASCII)
RESERVED_KINDS = frozenset({"python_task", "python_state"})

Worked = Outcome | Awaitable[Outcome | None] | None
"""What running a task gives: an outcome, None for a success, or what is to be awaited for either."""


class Task:
    """Works the jobs of one kind (River: Worker). Subclass it, or register a function."""

    kind: str = ""
    kind_aliases: tuple[str, ...] = ()
    adapter: bool = False
    """True for the bridge of an adapter, which alone may work a reserved kind."""
    has_waiting_jobs: bool = False
    """Whether jobs of this kind wait for others, so that workers look after those whose members vanish."""
    plugins: Sequence[object] = ()
    """Plugins for jobs of this kind only, inside those of the worker and of the client."""

    def work(self, job: Job) -> Worked:
        """Run the job. None means completed; raise to fail, or to cancel or snooze.

        May be `async def`, or return an awaitable of the outcome: it is awaited on the worker's event loop.
        """
        raise TypeError(f"{type(self).__name__} defines no work()")

    def is_coroutine(self, job: JobRow) -> bool:
        """Return whether `work` will give an awaitable for this job: then few threads are made for it.

        Must be quick, and neither block nor raise. An awaitable that was not foretold is awaited as well.
        """
        return _is_async(self.work)

    def timeout(self, job: JobRow) -> float | None:
        """Return the time-out in seconds, 0 for the worker's default, None for no limit."""
        return 0

    def next_retry(self, job: JobRow, error: BaseException) -> datetime | None:
        """Return when to run again after `error`, or None for the worker's retry policy."""
        return None

    def refused(self, job: JobRow, error: BaseException) -> Failed:
        """Return the outcome to write instead of one that the database refused with `error`.

        Without a trace: it would show our own statements, and the values that the database quotes.
        """
        return Failed(error, trace="")

    def broken(self, job: JobRow, cause: Break) -> Outcome:
        """Return the final outcome of a job that waits for others, one of which will never bring its part.

        It may break in its turn what waits for it. Nothing of the application should run here: the
        transaction that ended the other job is open.
        """
        return Failed(RiverError(f"job {job.id} waited for a job that failed"), retry=False, trace="")

    def lost(self, job: Job, loss: Loss) -> Outcome:
        """Return the outcome of an attempt that did not end by itself: its process died, its time is over.

        Called in the worker's own process; `job` is another object than the attempt had, and takes metadata
        and `after_write`. A death counts as an attempt that failed.
        """
        match loss:
            case TimeLimitReached():
                return Failed(JobTimeoutError(loss.seconds), trace="")
            case Terminated():
                return Cancelled(f"JobCancelError: terminated by {signal_name(loss.signal)}")
            case ProcessDied():
                return Failed(JobLostError(loss.description), trace="")
            case WorkerStopped():
                return self.interrupted(job)

    def interrupted(self, job: Job) -> Outcome:
        """Return what becomes of an attempt that had begun when its worker ended it: the row runs again.

        An adapter may mark its row, or end one that must not run twice. `job` is as in `lost`.
        """
        return Interrupted()

    def late_hand_over(self, member: JobRow | None, waiting: JobRow, index: int) -> HandOver | int | None:
        """Return what a member that ended without handing over, or is gone, means for a job that waits.

        An id stands for the row that took the member's place; None is no answer yet.
        """
        return Break(waiting.id, index)

    def retries(self, job: JobRow, error: BaseException) -> bool:
        """Return False to discard the job now instead of trying again (River for Ruby: retry?)."""
        return True


class FunctionTask(Task):
    """A task made of a function that takes the `Job`."""

    def __init__(self, kind: str, function: Callable[[Job], Any]) -> None:
        """Work `kind` by `function`, which may be `async def`; a result that is no outcome is ignored."""
        self.kind = kind
        self.function = function
        self._is_async = _is_async(function)

    def work(self, job: Job) -> Worked:
        """Call the function."""
        result = self.function(job)
        if result is None:
            return None
        return result if isinstance(result, Outcome | Awaitable) else None

    def is_coroutine(self, job: JobRow) -> bool:
        """Return whether the function was made by `async def`."""
        return self._is_async


class Registry:
    """Tasks by kind (River: Workers). Each kind, alias included, is known once."""

    def __init__(self) -> None:
        """Start empty."""
        self._tasks: dict[str, Task] = {}
        self.has_plugins = False
        """Whether any task has plugins of its own."""
        self.has_coroutines = False
        """Whether the jobs of any task may be coroutines."""

    def add(self, task: Task | str, function: Callable[[Job], Any] | None = None) -> Registry:
        """Register a task, or a function under a kind; return the registry.

        Raises ConfigurationError for a kind that is malformed, reserved or known already.
        """
        entry = _as_task(task, function)
        for kind in (entry.kind, *entry.kind_aliases):
            if not KIND_PATTERN.fullmatch(kind):
                raise ConfigurationError(f"kind {kind!r} must match {KIND_PATTERN.pattern}")
            if kind in RESERVED_KINDS and not entry.adapter:
                raise ConfigurationError(f"kind {kind!r} is reserved for river_compat; choose another name")
            if kind in self._tasks:
                raise ConfigurationError(f"kind {kind!r} is registered already")
        self._tasks.update(dict.fromkeys((entry.kind, *entry.kind_aliases), entry))
        self.has_plugins = self.has_plugins or bool(entry.plugins)
        self.has_coroutines = self.has_coroutines or _may_be_coroutine(entry)
        return self

    def get(self, kind: str) -> Task | None:
        """Return the task of a kind, or None."""
        return self._tasks.get(kind)

    def kinds(self) -> tuple[str, ...]:
        """Return all known kinds and aliases, in order of registration."""
        return tuple(self._tasks)

    def __iter__(self) -> Iterator[Task]:
        """Iterate over the distinct tasks."""
        return iter(dict.fromkeys(self._tasks.values()))

    def __len__(self) -> int:
        """Return how many kinds, aliases included, are known."""
        return len(self._tasks)


def _as_task(task: Task | str, function: Callable[[Job], Any] | None) -> Task:
    if isinstance(task, Task):
        if function is not None:
            raise ConfigurationError("give either a Task or a kind and a function, not both")
        return task
    if function is None:
        raise ConfigurationError(f"kind {task!r} was given without a function to run it")
    if not callable(function):
        raise ConfigurationError(f"the function of kind {task!r} must be callable, not {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigurationError(
            f"the function of kind {task!r} has a `yield`: a call of it would run nothing"
        )
    return FunctionTask(task, function)


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)  # noqa: B004 - an object that is called like a function
    )


def _may_be_coroutine(task: Task) -> bool:
    if isinstance(task, FunctionTask):
        return _is_async(task.function)
    return type(task).is_coroutine is not Task.is_coroutine or _is_async(task.work)
