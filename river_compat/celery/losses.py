"""What it means for a task that its run did not end by itself: its process died, its time is over, it was
terminated."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state, signals, states, worker_telling
from river_compat.celery.app.handlers import overrides
from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.exceptions import TimeLimitExceeded, WorkerLostError
from river_compat.celery.fixups import around_task
from river_compat.celery.successor import Successor
from river_compat.celery.telling import Run, tell_failure
from river_compat.celery.time_limits import shown
from river_compat.python_task import failure
from river_compat.results import EXCEPTION, OUTCOME, RETRY_ID, TaskOutcome, exception_metadata
from river_core import clock
from river_core.job import JobRow, JobState
from river_core.loss import Loss, ProcessDied, Terminated, TimeLimitReached, WorkerStopped, signal_name
from river_core.outcome import Cancelled, Completed, Failed, FollowUp, Outcome
from river_core.task import Job

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task
    from river_compat.celery.request import Context

logger = logging.getLogger("celery.worker.request")


def lost(task: Task[..., Any], request: Context, job: Job, loss: Loss, fixups: Sequence[Any] = ()) -> Outcome:
    """Return how a run ends that was lost; handlers and receivers hear of it once that is written."""
    match loss:
        case TimeLimitReached():
            outcome, error = _over_time(task, request, job.row, loss)
        case Terminated():
            return _terminated(task, request, job, loss)
        case ProcessDied():
            outcome, error = _died(task, request, job.row, loss.description)
        case WorkerStopped():
            outcome, error = _died(task, request, job.row, "its worker was stopped.")
    if isinstance(outcome, Failed) and outcome.retry is False:
        job.after_write(partial(_tell, task, request, error, isinstance(loss, TimeLimitReached), fixups))
    return outcome


Ended = tuple[Outcome, Exception]


def _over_time(task: Task[..., Any], request: Context, row: JobRow, loss: TimeLimitReached) -> Ended:
    seconds = shown(loss.seconds)
    logger.error("Hard time limit (%ss) exceeded for %s[%s]", seconds, task.name, request.id)
    error = TimeLimitExceeded(seconds)
    acknowledged = task.acks_on_timeout
    if acknowledged is None:
        acknowledged = task.acks_on_failure_or_timeout
    goes_back = task.acks_late and acknowledged is False
    may_run_again = goes_back and _may_run_again(row)
    return (_again(error) if may_run_again else failure(error, trace="")), error


def _terminated(task: Task[..., Any], request: Context, job: Job, loss: Terminated) -> Outcome:
    name = signal_name(loss.signal)
    if signals.task_revoked.receivers:
        job.after_write(
            lambda _: worker_telling.tell_revoked(task, request, terminated=True, signum=loss.signal)
        )
    logger.info("task %s[%s] was terminated by %s", request.task, request.id, name)
    return Cancelled(f"terminated by {name}", {OUTCOME: TaskOutcome.TERMINATED.value})


def _died(task: Task[..., Any], request: Context, row: JobRow, how: str) -> Ended:
    error = WorkerLostError(f"Worker exited prematurely: {how} Job: {row.id}.")
    logger.error("task %s[%s] lost its process: %s", task.name, request.id, how)
    is_last = task.retry_on_worker_lost and _has_spent_its_retries(task, request)
    if task.retry_on_worker_lost and not is_last and (next_run := _next_run(task, request)) is not None:
        metadata = {OUTCOME: TaskOutcome.RETRIED.value, EXCEPTION: exception_metadata(error)}
        return Completed(metadata, (next_run,)), error
    if not is_last and _may_run_again(row):
        return _again(error), error
    if row.attempt > 1:
        text = f"{error} It was lost {row.attempt} times in {row.attempt} attempts, which is the limit."
        error = WorkerLostError(text)
    return failure(error, trace=""), error


def _may_run_again(row: JobRow) -> bool:
    return row.attempt < row.max_attempts


def _again(error: BaseException) -> Failed:
    """Let River run the row again; the attempt counts."""
    return Failed(error, trace="")


def _has_spent_its_retries(task: Task[..., Any], request: Context) -> bool:
    return task.max_retries is not None and request.retries >= task.max_retries


def _next_run(task: Task[..., Any], request: Context) -> FollowUp | None:
    """Return the retry that a lost process counts as, None where it cannot be stored."""
    try:
        options = {"countdown": task.default_retry_delay, "retries": request.retries + 1}
        successor = Successor.of(task, request, request.args, request.kwargs, options)
        return FollowUp(successor.row(clock.now()), RETRY_ID)
    except Exception:
        logger.exception("the retry of %s[%s] cannot be stored", task.name, request.id)
        return None


def _tell(
    task: Task[..., Any],
    request: Context,
    error: Exception,
    with_handlers: bool,
    fixups: Sequence[Any],
    state: JobState | None,
) -> None:
    """Tell the receivers of `task_failure`, and at a time limit the task's own handlers, as Celery does."""
    if state is None:
        return
    run = Run(task, request.id, request.args, request.kwargs, request, time.monotonic())
    einfo = ExceptionInfo(error)
    _state.push(_state.Frame(task, request, entered=True, in_worker=True))
    try:
        with around_task(fixups):
            if with_handlers:
                _call_handlers(run, error, einfo)
            tell_failure(run, error, einfo)
    finally:
        _state.pop()


def _call_handlers(run: Run, error: Exception, einfo: ExceptionInfo) -> None:
    task, arguments = run.task, (run.id, run.args, run.kwargs)
    if overrides(task, "on_failure"):
        _handle(task, task.on_failure, (error, *arguments, einfo))
    if overrides(task, "after_return"):
        _handle(task, task.after_return, (states.FAILURE, error, *arguments, None))


def _handle(task: Task[..., Any], handler: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        handler(*arguments)
    except Exception:
        logger.exception("a handler of task %s raised", task.name)
