"""Runs Celery calls for the bridge: a claimed row becomes a request, its end becomes an outcome.

Every hand-over (result, retry, failure) is in the outcome, so the completer writes it in the one
transaction that ends the row.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from river_compat import codec
from river_compat.call_body import read_body
from river_compat.celery import (
    _state,
    losses,
    outgoing,
    run_outcomes,
    states,
    waiting_step,
    worker_telling,
)
from river_compat.celery.app import trace
from river_compat.celery.app.trace import Ending
from river_compat.celery.control_flow import carries_control_flow
from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.exceptions import (
    InvalidTaskError,
    Reject,
    SecurityWarning,
)
from river_compat.celery.fixups import around_task
from river_compat.celery.following import ROWS, call_each, rows_of_end, send_callbacks, send_errbacks
from river_compat.celery.message_headers import is_shaped
from river_compat.celery.priority import default_priority
from river_compat.celery.replacing import REPLACEMENT
from river_compat.celery.request import STORING, Context, Storing
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
from river_compat.results import (
    EXCEPTION,
    GIVEN_BACK,
    OUTCOME,
    TaskOutcome,
    exception_metadata,
    result_metadata,
)
from river_core.forking import is_astray, leave_by
from river_core.job import JobRow, JobState
from river_core.links import FEEDS, Break, HandOver, Part, feeds_of
from river_core.loss import Loss
from river_core.outcome import Completed, Failed, FollowUp, Outcome, Snoozed
from river_core.task import Job

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.app.task import Task

UNSAFE_TYPES = frozenset({"application/x-python-serialize"})
_UNSAFE = "accept_content names pickle: whoever can write a row can run code in this worker"

Settle = Callable[[Any], Any]

received_logger = logging.getLogger("celery.worker.strategy")
logger = logging.getLogger("celery.worker.request")


@dataclass(frozen=True, slots=True)
class Traced:
    """A task, and what runs it; libraries may have wrapped that."""

    task: Task[..., Any]
    trace: Callable[[str, Any, Any, Context], Ending]


class CeleryRunner:
    """Runs the calls of one application's tasks. Used by all slots of a worker at once."""

    def __init__(self, app: Celery, limits: TimeLimits | None = None) -> None:
        """Read the settings once; the application's tasks must be registered by now.

        `limits` are for tasks and calls without their own.
        """
        self._app = app
        self._priority = default_priority(app.priority_scheme)
        self._limits = limits or TimeLimits()
        self._tasks = app.tasks
        self._accept = codec.accepted_types(app.conf.accept_content)
        self._result_serializer: str = app.conf.result_serializer
        self._result_compression = result_compression(app.conf)
        self._tracers: dict[str, Traced] = {}
        self._fixups = app.fixups
        if self._accept & UNSAFE_TYPES:
            warnings.warn(SecurityWarning(_UNSAFE), stacklevel=2)

    def run(self, call: TaskCall, job: Job) -> Outcome:
        """Run a call and return how it ended; raises CallNotRunnable for a task nobody registered here."""
        try:
            tracer = self._tracer(call)
        except CallNotRunnable:
            worker_telling.tell_unknown(self, call, job.row)
            raise
        try:
            request = WorkerContext(call, job.row, *self._arguments(call, job.row), self._priority)
            if is_shaped(call.headers):
                request.load()
            ignored = request.effective_ignore_result(tracer.task.ignore_result)
            request.__dict__["ignore_result"] = ignored
            can_expire = '"expires"' in call.headers or '"expires_in"' in call.headers
            expired = can_expire and is_expired(request.expires, run_outcomes.claimed_at(job))
        except (codec.DecodeError, codec.ContentDisallowed, InvalidTaskError, ValueError) as error:
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
        task = self._tracer(call).task
        return task, WorkerContext(call, row, *self._arguments(call, row), self._priority)

    @property
    def fixups(self) -> Sequence[Any]:
        """What is around each task, and around those who are told of one."""
        return self._fixups

    def _tracer(self, call: TaskCall) -> Traced:
        task = self._tasks.get(call.name)
        tracer = self._tracers.get(call.name)
        if tracer is not None and tracer.task is task:
            return tracer
        if task is None:
            close = ", ".join(self._tasks.near_misses(call.name))
            raise CallNotRunnable(
                f"task {call.name!r} is not registered in this worker"
                + (f"; it knows {close}" if close else "; import the module that defines it")
            )
        made = trace.build_tracer(task.name, task, app=self._app)
        tracer = self._tracers[call.name] = Traced(task, made)
        return tracer

    def _arguments(self, call: TaskCall, row: JobRow) -> tuple[Any, Any, Any]:
        if call.body is None:
            return call.plain_args, call.plain_kwargs, None
        body = read_body(call, self._accept)
        try:
            args, kwargs, embedded = body
        except (TypeError, ValueError) as error:
            raise InvalidTaskError(
                f"the body of task {call.name}[{call.id}] is not [args, kwargs, embed]"
            ) from error
        if not isinstance(args, list | tuple) or not isinstance(kwargs, Mapping):
            raise InvalidTaskError(f"the arguments of task {call.name}[{call.id}] are no list and mapping")
        return waiting_step.arguments(args, call, row, self._accept), kwargs, embedded

    def broken(self, call: TaskCall, row: JobRow, cause: Break) -> Outcome:
        """Return the end of a step whose members will never all bring their parts."""
        return waiting_step.broken(call, row, cause)

    def lost(self, call: TaskCall, job: Job, loss: Loss) -> Outcome:
        """Return the end of a run whose process died, whose time is over, or that was terminated."""
        tracer = self._tracer(call)
        try:
            request = WorkerContext(call, job.row, *self._arguments(call, job.row), self._priority)
        except (codec.DecodeError, codec.ContentDisallowed, InvalidTaskError, ValueError) as error:
            return failure(error, trace="")
        outcome = losses.lost(tracer.task, request, job, loss, self._fixups)
        return self._told(tracer.task, request, job, outcome)

    def _told(self, task: Task[..., Any], request: WorkerContext, job: Job, outcome: Outcome) -> Outcome:
        """Return the outcome with the errbacks of a run that has failed for good around its body."""
        if not request.is_linked or not isinstance(outcome, Failed) or outcome.retry is not False:
            return outcome
        self._errbacks(task, request, job)(outcome.error, ExceptionInfo(outcome.error))
        return replace(outcome, follow_ups=(*outcome.follow_ups, *run_outcomes.follow_ups_of(request)))

    def _run(self, tracer: Traced, request: WorkerContext, job: Job, ignored: bool) -> Outcome:
        _state.start_clean()
        settle: Settle = _nothing if ignored else self._settle
        failed = None
        if request.is_linked:
            settle = self._with_callbacks(request, settle)
            failed = self._errbacks(tracer.task, request, job)
        request.__dict__[STORING] = Storing(settle, partial(self._after_write, job), failed)
        run = Run(tracer.task, request.id, request.args, request.kwargs, request, time.monotonic())
        request.__dict__["_job"] = job
        self._limits.begin(job, tracer.task, request)
        try:
            ending = tracer.trace(request.id, request.args, request.kwargs, request)
        except (SystemExit, KeyboardInterrupt) as error:
            if is_astray():
                leave_by(error)
            return self._told(tracer.task, request, job, run_outcomes.broken(run, error, job))
        except BaseException as error:
            if carries_control_flow(error):
                raise
            if isinstance(error, Exception):
                tell_internal_error(run, error)
                raise
            logger.error("task %s[%s] failed: %r", request.task, request.id, error)
            return failure(error, trace=ExceptionInfo(error).traceback)
        metadata = run_outcomes.common_metadata(request, job)
        follow_ups = run_outcomes.follow_ups_of(request)
        if ending.state == states.SUCCESS:
            metadata[OUTCOME] = TaskOutcome.SUCCEEDED.value
            if ending.settled:
                metadata.update(ending.settled)
            delete_row = ignored and tracer.task.river_delete_row
            parts = self._parts(request, job, ignored, ending.value)
            return Completed(metadata, follow_ups, parts, delete_row=delete_row)
        return self._not_succeeded(tracer.task, request, job, ending, metadata, follow_ups)

    def _after_write(self, job: Job, told: Callable[[JobState | None], object]) -> None:
        """Call `told` once the outcome of `job` is written, with the framework's care as around the task."""

        def within(state: JobState | None) -> None:
            with around_task(self._fixups):
                told(state)

        job.after_write(within if self._fixups else told)

    def _settle(self, value: Any) -> dict[str, Any]:
        serializer = self._result_serializer
        return result_metadata(prepared(value, serializer), serializer, self._result_compression)

    def _with_callbacks(self, request: WorkerContext, settle: Settle) -> Settle:
        def settled(value: Any) -> Any:
            found = settle(value)
            with outgoing.collected(rows_of_end(request)):
                send_callbacks(self._app, request, value)
            return found

        return settled

    def _errbacks(
        self, task: Task[..., Any], request: WorkerContext, job: Job
    ) -> Callable[[BaseException, ExceptionInfo], None]:
        def failed(error: BaseException, einfo: ExceptionInfo) -> None:
            request.__dict__.pop(ROWS, None)
            with outgoing.collected(rows_of_end(request)):
                to_call = send_errbacks(self._app, request)
            if to_call:
                self._after_write(job, partial(called, to_call, error, einfo))

        def called(
            errbacks: list[Any], error: BaseException, einfo: ExceptionInfo, state: JobState | None
        ) -> None:
            if state is None:
                return
            _state.push(_state.Frame(task, request, entered=True, in_worker=True))
            try:
                call_each(errbacks, request, error, einfo.traceback)
            finally:
                _state.pop()

        return failed

    def _parts(self, request: WorkerContext, job: Job, ignored: bool, value: Any) -> tuple[HandOver, ...]:
        """Return what a step hands over although its result is not kept."""
        if not ignored or FEEDS not in job.row.encoded_metadata:
            return ()
        text = part_text(self._settle(value))
        return tuple(Part(target, index, text) for target, index in feeds_of(job.row.metadata))

    def _not_succeeded(
        self,
        task: Task[..., Any],
        request: WorkerContext,
        job: Job,
        ending: Ending,
        metadata: dict[str, Any],
        follow_ups: tuple[FollowUp, ...],
    ) -> Outcome:
        error = ending.value
        if isinstance(error, MemoryError):
            job.renew_process()
        ignored = bool(request.__dict__["ignore_result"])
        if ending.state == states.RETRY:
            return self._retried(request, ending, metadata, follow_ups)
        if ending.state == states.IGNORED and REPLACEMENT in request.__dict__:
            metadata[OUTCOME] = TaskOutcome.REPLACED.value
            return Completed(metadata, (*follow_ups, *request.__dict__[REPLACEMENT]))
        if ending.state == states.IGNORED:
            return Completed({**metadata, OUTCOME: TaskOutcome.IGNORED.value}, follow_ups)
        if isinstance(error, Reject) and error.requeue and run_outcomes.may_requeue(job):
            return Snoozed(0, {**metadata, GIVEN_BACK: True})
        keep = bool(task.store_errors_even_if_ignored) or not ignored
        return run_outcomes.failed(error, ending.einfo, metadata, follow_ups, keep)

    def _retried(
        self,
        request: WorkerContext,
        ending: Ending,
        metadata: dict[str, Any],
        follow_ups: tuple[FollowUp, ...],
    ) -> Outcome:
        retry = ending.value
        metadata[OUTCOME] = TaskOutcome.RETRIED.value
        trace = ending.einfo.traceback if ending.einfo is not None else None
        if not request.__dict__["ignore_result"]:
            metadata[EXCEPTION] = exception_metadata(retry.exc, trace)
        return Completed(metadata, follow_ups)


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
