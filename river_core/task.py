"""What runs a job: tasks by kind, and the handle that a running task gets.

River calls a task a worker; here `Task` works one kind and `Registry` is River's Workers bundle.
"""

from __future__ import annotations

import inspect
import logging
import re
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from river_core.encoding import sanitize_text
from river_core.errors import (
    ConfigurationError,
    JobCancelError,
    JobInterruptedError,
    JobLostError,
    JobTimeoutError,
    RiverError,
    ValidationError,
)
from river_core.insert import InsertManyParams, InsertOpts, InsertResult
from river_core.job import JobRow, JobState
from river_core.links import Break, HandOver
from river_core.loss import Loss, ProcessDied, Terminated, TimeLimitReached, signal_name
from river_core.metadata import MAX_OUTPUT_BYTES, json_copy
from river_core.outcome import Cancelled, Failed, Interrupted, Outcome
from river_core.resumable import Steps

KIND_PATTERN = re.compile(r"\w[\w\-\[\]<>/.·:+]+", re.ASCII)
RESERVED_METADATA_PREFIX = "river:"
OUTPUT_KEY = "output"
RESERVED_KINDS = frozenset({"python_task", "python_state"})


class Inserter(Protocol):
    """The part of a client that a running task may use (River: ClientFromContext)."""

    def insert(self, args: Any, insert_opts: InsertOpts | None = None) -> InsertResult:
        """Insert one job."""
        ...

    def insert_many(self, jobs: list[InsertManyParams]) -> list[InsertResult]:
        """Insert several jobs, all or none."""
        ...


class TxCompletion(Protocol):
    """A completion that the task has written in a transaction of its own; `river_core.job_tx` makes it."""

    @property
    def row(self) -> JobRow:
        """The row as it was written."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata updates that were written with it."""
        ...

    def look(self) -> JobRow | None:
        """Read the row as it is committed now."""
        ...


class Host(Protocol):
    """What runs a job just now; see the methods of `Job` that pass on to it."""

    def limit_time(
        self,
        soft: float | None,
        hard: float | None,
        error: type[BaseException],
        told: Callable[[], object] | None = None,
    ) -> None:
        """Bound the attempt from now on; None is no limit."""
        ...

    def renew_process(self) -> None:
        """Replace the process after this attempt, where it has one of its own."""
        ...

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Await on the worker's event loop and block until the end."""
        ...


@dataclass(slots=True)
class Powers:
    """What few jobs use, made when it is asked for the first time."""

    steps: Steps | None = None
    logger: logging.Logger | None = None
    completion: TxCompletion | None = None
    stopped: threading.Event = field(default_factory=threading.Event)
    after_write: list[Callable[[JobState | None], object]] = field(default_factory=list)


class Job:
    """The running job, as its task sees it (River: Job).

    Used by the thread, or coroutine, that runs the task; `stop` alone may be called from others.
    """

    __slots__ = ("_metadata", "client", "host", "powers", "row", "stop_cause")

    def __init__(self, row: JobRow, client: Inserter | None = None) -> None:
        """Wrap a claimed row."""
        self.row = row
        self.client = client
        self.stop_cause: type[JobCancelError | JobInterruptedError] | None = None
        self.powers: Powers | None = None
        self.host: Host | None = None
        """What runs the task, while it does."""
        self._metadata: dict[str, Any] = {}

    @property
    def id(self) -> int:
        """The id of the job's row."""
        return self.row.id

    @property
    def args(self) -> dict[str, Any]:
        """The decoded arguments."""
        return self.row.args

    @property
    def stopped(self) -> bool:
        """Whether the job was cancelled or its worker stops; a long task looks at this now and then."""
        return self.stop_cause is not None

    def wait_stopped(self, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds for the job to be stopped; return whether it was.

        It blocks, so it is not for coroutines, which are told of a stop by their cancellation.
        """
        stopped = self.use_powers().stopped
        if self.stop_cause is not None:
            return True
        return stopped.wait(timeout)

    def stop(self, cause: type[JobCancelError | JobInterruptedError]) -> bool:
        """Tell the task to end; the first cause stays. Return whether this was the first."""
        first = self.stop_cause is None
        if first:
            self.stop_cause = cause
        if self.powers is not None:
            self.powers.stopped.set()
        return first

    def update_metadata(self, updates: Mapping[str, Any]) -> None:
        """Merge copies of the values into the row's metadata when the attempt ends, however it ends.

        Raises ValidationError for keys that River reserves and for values that are no JSON.
        """
        for key in updates:
            if key.startswith(RESERVED_METADATA_PREFIX):
                raise ValidationError(f"metadata key {key!r} is reserved: keys may not start with 'river:'")
        copies = {key: json_copy(f"metadata {key!r}", value) for key, value in updates.items()}
        self._metadata.update({sanitize_text(key): value for key, value in copies.items()})

    def record_output(self, value: Any) -> None:
        """Store a copy of `value` under `output` when the attempt ends (River: RecordOutput).

        Raises ValidationError for what is no JSON and for more than 32 MiB of it.
        """
        self._metadata[OUTPUT_KEY] = json_copy("the output", value, MAX_OUTPUT_BYTES)

    def keep_metadata(self, updates: Mapping[str, Any]) -> None:
        """Merge checked values whose keys River reserves; for the parts of River that own those keys."""
        self._metadata.update(updates)

    @property
    def metadata_updates(self) -> Mapping[str, Any]:
        """What `update_metadata` and `record_output` have collected in this attempt, as of now."""
        return self._metadata.copy()

    @property
    def steps(self) -> Steps:
        """Steps that a retry does not run again once they are done (River: ResumableStep)."""
        powers = self.use_powers()
        if powers.steps is None:
            powers.steps = Steps(self.row)
        return powers.steps

    @property
    def logger(self) -> logging.Logger:
        """The logger whose lines are kept in the row; needs the plugin `PersistedLogs` (River: riverlog)."""
        if self.powers is None or self.powers.logger is None:
            raise ConfigurationError("job.logger needs PersistedLogs() among the worker's plugins")
        return self.powers.logger

    def after_write(self, callback: Callable[[JobState | None], object]) -> None:
        """Call `callback`, with the state that the row was left in, once this attempt's outcome is written.

        It runs in the thread of the attempt, which waits for the write, and only logs what it raises; None
        stands for an outcome that changed nothing or was given up.
        """
        self.use_powers().after_write.append(callback)

    def limit_time(
        self,
        soft: float | None,
        hard: float | None,
        error: type[BaseException],
        told: Callable[[], object] | None = None,
    ) -> None:
        """Raise `error` in the task after `soft` seconds from now, and end the attempt after `hard`.

        None is no limit, both lift what was set. A child process is killed at its hard limit; a thread
        cannot be: its outcome is recorded, and another thread takes its place. What is recorded is
        `Task.lost`. `told` is called by another thread when `error` has been raised. Only while the task
        runs in a worker.
        """
        if self.host is not None:
            self.host.limit_time(soft, hard, error, told)

    def renew_process(self) -> None:
        """Ask that the child process which runs this job is replaced after it; a thread is not."""
        if self.host is not None:
            self.host.renew_process()

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Await on the worker's event loop, block this thread until the end, return or raise what came of it.

        Raises RiverError outside of a worker.
        """
        if self.host is None:
            raise RiverError(f"job {self.row.id} runs in no worker, so no event loop is at hand")
        return self.host.wait_for(awaitable)

    def use_powers(self) -> Powers:
        """Return the powers of this job, made now if they were not used before."""
        if self.powers is None:
            self.powers = Powers()
        return self.powers


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
    interruption: Interrupted = Interrupted()
    """What becomes of an attempt that had begun when its worker stopped; an adapter may mark its row."""

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
