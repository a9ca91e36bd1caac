"""Runs Celery calls for the bridge: a claimed row becomes a request, its end becomes an outcome.

Every hand-over (result, retry, failure) is in the outcome, so the completer writes it in the one
transaction that ends the row.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state, losses, run_outcomes, states, waiting_step, worker_telling
from river_compat.celery.app import trace
from river_compat.celery.call_reading import UNREADABLE, CallReader, Traced
from river_compat.celery.control_flow import carries_control_flow
from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.end_links import EndLinks, Settle
from river_compat.celery.fixups import around_task
from river_compat.celery.message_headers import is_shaped
from river_compat.celery.request import STORING, Storing
from river_compat.celery.result_storing import result_compression
from river_compat.celery.result_tuples import prepared
from river_compat.celery.telling import Run, tell_internal_error
from river_compat.celery.time_limits import TimeLimits
from river_compat.celery.timing import is_expired
from river_compat.celery.worker_context import WorkerContext
from river_compat.envelope import TaskCall
from river_compat.errors import CallNotRunnable
from river_compat.feeding import part_text
from river_compat.python_task import failure
from river_compat.results import result_metadata
from river_core.forking import is_astray, leave_by
from river_core.job import JobRow
from river_core.links import FEEDS, Break, HandOver, Part, feeds_of
from river_core.loss import Loss
from river_core.outcome import Outcome
from river_core.task import Job

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.app.task import Task

received_logger = logging.getLogger("celery.worker.strategy")
logger = logging.getLogger("celery.worker.request")


class CeleryRunner:
    """Runs the calls of one application's tasks. Used by all slots of a worker at once."""

    def __init__(self, app: Celery, limits: TimeLimits | None = None) -> None:
        """Read the settings once; the application's tasks must be registered by now.

        `limits` are for tasks and calls without their own.
        """
        self._limits = limits or TimeLimits()
        self._reader = CallReader(app)
        self._links = EndLinks(app)
        self._result_serializer: str = app.conf.result_serializer
        self._result_compression = result_compression(app.conf)
        self._fixups = app.fixups

    def run(self, call: TaskCall, job: Job) -> Outcome:
        """Run a call and return how it ended; raises CallNotRunnable for a task nobody registered here."""
        try:
            tracer = self._reader.tracer(call)
        except CallNotRunnable:
            worker_telling.tell_unknown(self, call, job.row)
            raise
        try:
            request = self._reader.request(call, job.row)
            if is_shaped(call.headers):
                request.load()
            ignored = request.effective_ignore_result(tracer.task.ignore_result)
            request.__dict__["ignore_result"] = ignored
            can_expire = '"expires"' in call.headers or '"expires_in"' in call.headers
            expired = can_expire and is_expired(request.expires, run_outcomes.claimed_at(job))
        except UNREADABLE as error:
            logger.error("task %s[%s] cannot be read and is discarded: %s", call.name, call.id, error)
            worker_telling.tell_rejected(self, job.row, error)
            return failure(error)
        if expired:
            return run_outcomes.expired(call, tracer.task, request, job)
        worker_telling.tell_received(self, tracer.task, request)
        if received_logger.isEnabledFor(logging.INFO):
            _log_received(request, tracer.task)
        if not self._fixups:
            return self._run(tracer, request, job, ignored)
        with around_task(self._fixups):
            return self._run(tracer, request, job, ignored)

    def request_of(self, call: TaskCall, row: JobRow) -> tuple[Task[..., Any], WorkerContext]:
        """Return the task of a call and its request; raises CallNotRunnable, and what decoding raises."""
        return self._reader.tracer(call).task, self._reader.request(call, row)

    @property
    def fixups(self) -> Sequence[Any]:
        """What is around each task, and around those who are told of one."""
        return self._fixups

    def broken(self, call: TaskCall, row: JobRow, cause: Break) -> Outcome:
        """Return the end of a step whose members will never all bring their parts."""
        return waiting_step.broken(call, row, cause)

    def lost(self, call: TaskCall, job: Job, loss: Loss) -> Outcome:
        """Return the end of a run whose process died, whose time is over, or that was terminated."""
        task = self._reader.tracer(call).task
        try:
            request = self._reader.request(call, job.row)
        except UNREADABLE as error:
            return failure(error, trace="")
        outcome = losses.lost(task, request, job, loss, self._fixups)
        return self._links.with_errbacks(task, request, job, outcome)

    def _run(self, tracer: Traced, request: WorkerContext, job: Job, ignored: bool) -> Outcome:
        _state.start_clean()
        task = tracer.task
        self._prepare(task, request, job, ignored)
        run = Run(task, request.id, request.args, request.kwargs, request, time.monotonic())
        self._limits.begin(job, task, request)
        try:
            ending = tracer.trace(request.id, request.args, request.kwargs, request)
        except (SystemExit, KeyboardInterrupt) as error:
            if is_astray():
                leave_by(error)
            outcome = run_outcomes.broken(run, error, job)
            return self._links.with_errbacks(task, request, job, outcome)
        except BaseException as error:
            if carries_control_flow(error):
                raise
            if isinstance(error, Exception):
                tell_internal_error(run, error)
                raise
            logger.error("task %s[%s] failed: %r", request.task, request.id, error)
            return failure(error, trace=ExceptionInfo(error).traceback)
        if ending.state != states.SUCCESS:
            return run_outcomes.not_succeeded(task, request, job, ending)
        delete_row = ignored and task.river_delete_row
        parts = self._parts(job, ignored, ending.value)
        return run_outcomes.succeeded(request, job, ending.settled, parts, delete_row)

    def _prepare(self, task: Task[..., Any], request: WorkerContext, job: Job, ignored: bool) -> None:
        """Give the request what the tracer stores its end by."""
        settle: Settle = _nothing if ignored else self._settle
        failed = None
        if request.is_linked:
            settle = self._links.with_callbacks(request, settle)
            failed = self._links.errbacks(task, request, job)
        request.__dict__[STORING] = Storing(settle, partial(self._links.after_write, job), failed)
        request.__dict__["_job"] = job

    def _settle(self, value: Any) -> dict[str, Any]:
        serializer = self._result_serializer
        return result_metadata(prepared(value, serializer), serializer, self._result_compression)

    def _parts(self, job: Job, ignored: bool, value: Any) -> tuple[HandOver, ...]:
        """Return what a step hands over although its result is not kept."""
        if not ignored or FEEDS not in job.row.encoded_metadata:
            return ()
        text = part_text(self._settle(value))
        return tuple(Part(target, index, text) for target, index in feeds_of(job.row.metadata))


def _nothing(_: Any) -> None:
    return None


def _log_received(request: WorkerContext, task: Task[..., Any]) -> None:
    data = {"id": request.id, "name": task.name}
    text = trace.LOG_RECEIVED
    if text.count("%(") > len(data):
        facts = ("eta", "argsrepr", "kwargsrepr")
        eta, args, kwargs = (request.get(name) for name in facts)
        data |= {"eta": eta, "args": args, "kwargs": kwargs}
    received_logger.info(text, data, extra={"data": data})
