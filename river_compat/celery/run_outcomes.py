"""What is written for the ends of Celery calls: metadata, following rows, failures, expiry."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any

from river_compat.celery import signals, states, waiting_step, worker_telling
from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.exceptions import Reject, WorkerLostError
from river_compat.celery.following import ROWS
from river_compat.celery.outgoing import Batch, rows_written_later
from river_compat.celery.replacing import REPLACEMENT
from river_compat.celery.result_tuples import children_text
from river_compat.celery.successor import scheduled_rows
from river_compat.celery.telling import Run, tell_lost
from river_compat.celery.worker_context import WorkerContext
from river_compat.envelope import TaskCall
from river_compat.python_task import describe, failure
from river_compat.results import (
    CHILDREN,
    EXCEPTION,
    GIVEN_BACK,
    OUTCOME,
    RETRY_ID,
    WAITING,
    TaskOutcome,
    exception_metadata,
)
from river_core import clock
from river_core.decide import snooze_count
from river_core.links import HandOver
from river_core.outcome import Cancelled, Completed, Failed, FollowUp, Outcome, Snoozed
from river_core.task import Job

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task
    from river_compat.celery.trace_ending import Ending

MAX_REQUEUES = 1000

logger = logging.getLogger("celery.worker.request")


def claimed_at(job: Job) -> datetime:
    """Return when the row was claimed, by the database's clock: this machine's may be wrong."""
    return job.row.attempted_at or clock.now()


def expired(call: TaskCall, task: Task[..., Any], request: WorkerContext, job: Job) -> Cancelled:
    """Return the end of a call that came too late, and let receivers of `task_revoked` know."""
    if signals.task_revoked.receivers and not worker_telling.is_left_to_parent():
        job.after_write(lambda _: worker_telling.tell_revoked(task, request, expired=True))
    return expired_outcome(call)


def expired_outcome(call: TaskCall) -> Cancelled:
    """Return, and log, the end of a call that came too late."""
    logger.info("task %s[%s] expired and is discarded", call.name, call.id)
    return Cancelled("the task expired before it was run", {OUTCOME: TaskOutcome.EXPIRED.value})


def common_metadata(request: WorkerContext, job: Job) -> dict[str, Any]:
    """Return what every end keeps: the children, and that the row waits for nothing any more."""
    metadata: dict[str, Any] = {}
    follows = (request.follows,) if f'"{waiting_step.FOLLOWS}"' in request.headers_text else ()
    children = children_text(request.__dict__.get("_children") or (), follows)
    if children is not None:
        metadata[CHILDREN] = children
    if WAITING in job.row.encoded_metadata:
        metadata[WAITING] = None
    return metadata


def follow_ups_of(request: WorkerContext) -> tuple[FollowUp, ...]:
    """Return what `retry()` has scheduled; of several the last is the one that handles follow.

    With it come the rows of callbacks or errbacks.
    """
    batch: Batch | None = request.__dict__.get(ROWS)
    others = rows_written_later(batch) if batch is not None else ()
    rows = scheduled_rows(request)
    if not rows:
        return others
    return (*others, *(FollowUp(row) for row in rows[:-1]), FollowUp(rows[-1], RETRY_ID))


def may_requeue(job: Job) -> bool:
    """Tell whether `Reject(requeue=True)` may give the row back once more."""
    return snooze_count(job.row) < MAX_REQUEUES


def succeeded(
    request: WorkerContext,
    job: Job,
    settled: dict[str, Any] | None,
    parts: tuple[HandOver, ...],
    delete_row: bool,
) -> Completed:
    """Return the outcome of a task that succeeded; `settled` is what its row keeps of the value."""
    metadata = common_metadata(request, job)
    metadata[OUTCOME] = TaskOutcome.SUCCEEDED.value
    if settled:
        metadata.update(settled)
    return Completed(metadata, follow_ups_of(request), parts, delete_row=delete_row)


def not_succeeded(task: Task[..., Any], request: WorkerContext, job: Job, ending: Ending) -> Outcome:
    """Return the outcome of a task that was retried, replaced, ignored or rejected, or has failed."""
    metadata, follow_ups = common_metadata(request, job), follow_ups_of(request)
    ignored = bool(request.__dict__["ignore_result"])
    if ending.state == states.RETRY:
        metadata[OUTCOME] = TaskOutcome.RETRIED.value
        if not ignored:
            trace = ending.einfo.traceback if ending.einfo is not None else None
            metadata[EXCEPTION] = exception_metadata(ending.value.exc, trace)
        return Completed(metadata, follow_ups)
    if ending.state == states.IGNORED and REPLACEMENT in request.__dict__:
        metadata[OUTCOME] = TaskOutcome.REPLACED.value
        return Completed(metadata, (*follow_ups, *request.__dict__[REPLACEMENT]))
    if ending.state == states.IGNORED:
        return Completed({**metadata, OUTCOME: TaskOutcome.IGNORED.value}, follow_ups)
    error = ending.value
    if isinstance(error, MemoryError):
        job.renew_process()
    if isinstance(error, Reject) and error.requeue and may_requeue(job):
        return Snoozed(0, {**metadata, GIVEN_BACK: True})
    keep = bool(task.store_errors_even_if_ignored) or not ignored
    return failed(error, ending.einfo, metadata, follow_ups, keep)


def failed(
    error: BaseException,
    einfo: ExceptionInfo | None,
    metadata: dict[str, Any],
    follow_ups: tuple[FollowUp, ...],
    keep: bool,
) -> Failed:
    """Return the outcome of an error that is final; with `keep` the row holds what rebuilds it."""
    metadata[OUTCOME] = TaskOutcome.FAILED.value
    if keep:
        metadata[EXCEPTION] = exception_metadata(error)
    trace = einfo.traceback if einfo is not None else None
    return Failed(error, metadata, False, describe(error), trace, follow_ups)


def broken(run: Run, error: BaseException, job: Job) -> Failed:
    """Return the outcome of a task that wanted to end its process: a failure, as Celery gives it.

    Celery's child process ends there and the task with it; running such a task again would only end
    the next attempt in the same way.
    """
    lost = WorkerLostError(f"the task ended its process: {describe(error)}")
    lost.__traceback__ = error.__traceback__
    logger.error("task %s[%s] failed: %s; the worker goes on", run.task.name, run.id, lost)
    if signals.task_failure.receivers:
        job.after_write(lambda _: tell_lost(run, lost))
    return failure(lost, trace=ExceptionInfo(error).traceback)
