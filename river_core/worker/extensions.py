"""What plugins and the error handler add to an attempt (River: HookWorkBegin, HookWorkEnd, WorkerMiddleware,
ErrorHandler). A worker that has none of them never comes here."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from river_core import outcome as o
from river_core.decide import error_text, format_trace
from river_core.errors import (
    ConfigurationError,
    ControlFlow,
    JobCancelError,
    JobInterruptedError,
    JobSnoozeError,
)
from river_core.job import JobState
from river_core.outcome import Failed, Outcome
from river_core.plugins import AwaitedWorkOperation, FinalizeAction, Hooks, PluginSet, WorkOperation
from river_core.task import Job, Task, Worked
from river_core.worker.completion import Completion, Deletion
from river_core.worker.flight import Later, current_flight

CANCEL = "cancel"
CANCEL_PREFIX = "JobCancelError: "

Call = Callable[[Task, Job], Worked]
Wait = Callable[[Awaitable[Outcome | None]], Outcome | None]
ErrorHandler = Callable[[Job, BaseException], Any]
"""Sees each failed attempt; `cancel` or True ends the job as cancelled, anything else is no opinion."""

logger = logging.getLogger(__name__)


class Extensions:
    """Calls the plugins of a worker and of its tasks, and its error handler."""

    def __init__(self, plugins: PluginSet, error_handler: ErrorHandler | None) -> None:
        """Take both; either may be empty."""
        self._plugins = plugins
        self._error_handler = error_handler

    def blocks(self, kind: str) -> bool:
        """Tell whether a plugin keeps the thread of an attempt until its end, also for a coroutine."""
        return self._plugins.any and self._plugins.hooks(kind).blocking

    def surrounding(self, call: Call, wait: Wait) -> Call:
        """Return a call that runs the plugins of a job's kind around `call`.

        It returns what is to be awaited where the task is a coroutine, unless a plugin's `work` surrounds
        it: that needs the end, for which it waits by `wait`.
        """
        return partial(self._run, call, wait) if self._plugins.any else call

    def _run(self, call: Call, wait: Wait, task: Task, job: Job) -> Worked:
        _decode(job)
        hooks = self._plugins.hooks(job.row.kind)
        if hooks.work_awaited and not hooks.blocking and task.is_coroutine(job.row):
            return _surrounded(hooks, call, task, job)
        operation = partial(_hooked, hooks, call, task, job)
        return _in_layers(hooks, partial(_waited, operation, wait), job) if hooks.work else operation()

    def judged(self, job: Job, failed: Failed) -> Outcome:
        """Return what the error handler makes of a failure; one that raises has no opinion."""
        if self._error_handler is None:
            return failed
        try:
            answer = self._error_handler(job, failed.error)
        except Exception:
            logger.exception("the error handler raised", extra={"job_id": job.row.id})
            return failed
        if answer is not True and answer != CANCEL:
            return failed
        trace = failed.trace if failed.trace is not None else format_trace(failed.error)
        return o.Cancelled(failed.error_text or error_text(failed.error), failed.metadata, trace)

    def finalized(self, job: Job, completion: Completion) -> Completion:
        """Ask `job_finalize` about a success; return a deletion where a plugin wants that.

        A hook that raises is logged: the work is done, and its outcome is kept.
        """
        if completion.change.state is not JobState.COMPLETED:
            return completion
        for hook in self._plugins.hooks(job.row.kind).job_finalize:
            try:
                if hook(job, JobState.COMPLETED) == FinalizeAction.DELETE:
                    return Deletion(completion.row, completion.change, completion.decided, completion.ran)
            except Exception:
                logger.exception("job_finalize of a plugin raised", extra={"job_id": job.row.id})
        return completion


def _in_layers(hooks: Hooks, operation: WorkOperation, job: Job) -> Outcome | None:
    for middleware in reversed(hooks.work):
        operation = _Layer(middleware, job, operation)
    return operation()


def _waited(operation: Callable[[], Worked], wait: Wait) -> Outcome | None:
    result = operation()
    return wait(result) if isinstance(result, Awaitable) else result


class _Layer:
    """One middleware, and what it encloses; the outcome inside counts where it returns none."""

    def __init__(self, middleware: Callable[..., Any], job: Job, enclosed: WorkOperation) -> None:
        self._middleware = middleware
        self._job = job
        self._enclosed = enclosed
        self._outcome: Outcome | None = None

    def __call__(self) -> Outcome | None:
        self._outcome = None
        answer = self._middleware(self._job, self._operation)
        return answer if isinstance(answer, Outcome) else self._outcome

    def _operation(self) -> Outcome | None:
        self._outcome = None
        self._outcome = self._enclosed()
        return self._outcome


async def _surrounded(hooks: Hooks, call: Call, task: Task, job: Job) -> Outcome | None:
    """Run a coroutine task on the event loop with all plugins; hooks that may block run beside it."""
    operation: AwaitedWorkOperation = partial(_hooked_beside, hooks, call, task, job)
    for middleware in reversed(hooks.work_awaited):
        operation = _AwaitedLayer(middleware, job, operation)
    return await operation()


class _AwaitedLayer:
    """As `_Layer`, awaited."""

    def __init__(self, middleware: Callable[..., Any], job: Job, enclosed: AwaitedWorkOperation) -> None:
        self._middleware = middleware
        self._job = job
        self._enclosed = enclosed
        self._outcome: Outcome | None = None

    async def __call__(self) -> Outcome | None:
        self._outcome = None
        answer = await self._middleware(self._job, self._operation)
        return answer if isinstance(answer, Outcome) else self._outcome

    async def _operation(self) -> Outcome | None:
        self._outcome = None
        self._outcome = await self._enclosed()
        return self._outcome


class _EndedTask(Task):
    """A task with its end hooks, so that they are under its time-out too."""

    def __init__(self, task: Task, hooks: tuple[Callable[..., Any], ...]) -> None:
        self._task = task
        self._hooks = hooks

    def work(self, job: Job) -> Worked:
        """Run the task, then ask each hook which error counts."""
        outcome: Outcome | None = None
        first: BaseException | None
        try:
            result = self._task.work(job)
            if isinstance(result, Awaitable):
                return Later(result, partial(self._work_awaited, job))
            outcome = result
            first = _error_of(outcome)
        except (Exception, ControlFlow) as error:  # noqa: BLE001 - the hooks decide which error counts
            first = error
        return self._ended(job, outcome, first)

    async def _work_awaited(self, job: Job, awaitable: Awaitable[Outcome | None]) -> Outcome | None:
        flight = current_flight()
        outcome: Outcome | None = None
        first: BaseException | None
        try:
            outcome = await flight.converted(awaitable)
            first = _error_of(outcome)
        except (Exception, ControlFlow) as error:  # noqa: BLE001 - the hooks decide which error counts
            first = error
        ended: Outcome | None = await flight.beside(partial(self._ended, job, outcome, first))
        return ended

    def _ended(self, job: Job, outcome: Outcome | None, first: BaseException | None) -> Outcome | None:
        last = first
        for hook in self._hooks:
            last = hook(job, last)
            if last is not None and not isinstance(last, BaseException):
                raise ConfigurationError(f"{hook.__qualname__} must return an error or None, not {last!r}")
        if last is None:
            return outcome if first is None else None
        if last is first and outcome is not None:
            return outcome
        raise last


def _hooked(hooks: Hooks, call: Call, task: Task, job: Job) -> Worked:
    _begin(hooks, job)
    return call(_EndedTask(task, hooks.work_end) if hooks.work_end else task, job)


async def _hooked_beside(hooks: Hooks, call: Call, task: Task, job: Job) -> Outcome | None:
    if hooks.work_begin:
        await current_flight().beside(partial(_begin, hooks, job))
    result = call(_EndedTask(task, hooks.work_end) if hooks.work_end else task, job)
    return await result if isinstance(result, Awaitable) else result


def _begin(hooks: Hooks, job: Job) -> None:
    for hook in hooks.work_begin:
        hook(job)


def _decode(job: Job) -> None:
    """Raise JobRowDecodeError, before any plugin sees the job, for a row that cannot be read."""
    _ = job.row.args, job.row.metadata, job.row.errors


def _error_of(outcome: Outcome | None) -> BaseException | None:
    """Return an outcome that a task has returned as the error that means the same."""
    match outcome:
        case Failed():
            return outcome.error
        case o.Snoozed():
            return JobSnoozeError(outcome.seconds)
        case o.Cancelled():
            return JobCancelError(outcome.reason.removeprefix(CANCEL_PREFIX))
        case o.Interrupted():
            return JobInterruptedError()
        case _:
            return None
