"""Who hears of a run, and in which order: handlers of the task, receivers of signals, the log.

Celery tells once the outcome is stored. In a worker that is after the commit, so a slot waits for it, but
only where somebody is there to be told of the outcome.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state, signals, states
from river_compat.celery.app.handlers import overrides
from river_compat.celery.control_flow import carries_control_flow
from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.exceptions import BackendStoreError, Reject
from river_compat.celery.trace_ending import Ending, TraceInfo
from river_compat.celery.trace_log import (
    get_task_name,
    log_error,
    log_retry,
    log_success,
    logger,
)
from river_compat.celery.utils.serialization import get_pickleable_exception
from river_core.job import JobState

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task
    from river_compat.celery.request import Context
    from river_compat.celery.utils.dispatch import Signal

_SIGNALS: dict[str, Signal] = {
    states.SUCCESS: signals.task_success,
    states.FAILURE: signals.task_failure,
    states.RETRY: signals.task_retry,
    states.REJECTED: signals.task_failure,
}
_HANDLERS = {states.SUCCESS: "on_success", states.FAILURE: "on_failure", states.RETRY: "on_retry"}
_RETURNS = (states.SUCCESS, states.FAILURE)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a task: what every handler and receiver is told."""

    task: Task[..., Any]
    id: str
    args: Any
    kwargs: Any
    request: Context
    started: float

    def name(self) -> str:
        """Return the name that log lines show."""
        return get_task_name(self.request, self.task.name)


class Teller:
    """Tells of the runs of one task. With `eager` errors of handlers are raised, otherwise logged."""

    __slots__ = ("_after_return", "_eager", "_handlers", "_task")

    def __init__(self, task: Task[..., Any], eager: bool) -> None:
        """Look once which handlers the task has."""
        self._task = task
        self._eager = eager
        self._handlers = {
            state: getattr(task, name) for state, name in _HANDLERS.items() if overrides(task, name)
        }
        self._after_return = task.after_return if overrides(task, "after_return") else None

    def is_heard(self, ending: Ending) -> bool:
        """Whether a handler or receiver is to be told of this ending once it is written.

        Receivers of `task_postrun` alone do not count: they hear that the run is over, which it is now.
        """
        state = ending.state
        signal = _SIGNALS.get(state)
        return (
            state in self._handlers
            or (self._after_return is not None and state in _RETURNS)
            or (signal is not None and bool(signal.receivers))
        )

    def tell(self, run: Run, ending: Ending) -> None:
        """Tell everybody but the receivers of `task_postrun`."""
        state = ending.state
        if (handler := self._handlers.get(state)) is not None:
            facts = ending.value.exc if state == states.RETRY else ending.value
            einfo = () if state == states.SUCCESS else (ending.einfo,)
            self._handle(_HANDLERS[state], handler, (facts, run.id, run.args, run.kwargs, *einfo), run)
        if state != states.REJECTED:
            _send(run, ending)
        _log(run, ending)
        if self._after_return is not None and state in _RETURNS:
            arguments = (state, ending.value, run.id, run.args, run.kwargs, None)
            self._handle("after_return", self._after_return, arguments, run)

    def postrun(self, run: Run, ending: Ending | None) -> None:
        """Tell the receivers of `task_postrun`, whatever came of the run; None for what has no state."""
        if signals.task_postrun.receivers:
            signals.task_postrun.send(
                run.task,
                task_id=run.id,
                task=run.task,
                args=run.args,
                kwargs=run.kwargs,
                retval=ending.value if ending is not None else None,
                state=ending.state if ending is not None else None,
            )
        if ending is not None and ending.state == states.REJECTED and not ending.value.requeue:
            _send(run, ending)

    def tell_written(self, run: Run, ending: Ending, state: JobState | None) -> Ending:
        """Tell all of an outcome that was written; returns the ending as it was written.

        The slot must not hear of errors. Of an outcome that changed nothing, since the row is another
        worker's by now, nothing is told here: that worker tells.
        """
        if state is None:
            return ending
        ending = _as_written(run, ending, state)
        try:
            self.tell(run, ending)
        except BaseException:  # noqa: BLE001 - the attempt is over: nothing may end it a second time
            logger.exception("Task %s[%s]: telling of its end failed", run.name(), run.id)
        return ending

    def _handle(self, name: str, handler: Any, arguments: tuple[Any, ...], run: Run) -> None:
        """Call a handler. In a worker its errors are logged: the outcome of the task stands."""
        try:
            handler(*arguments)
        except (Reject, MemoryError):
            raise
        except Exception as error:
            if self._eager or carries_control_flow(error):
                raise
            logger.exception("Task %s[%s] " + name + " handler raised: %r", run.name(), run.id, error)


def _as_written(run: Run, ending: Ending, state: JobState) -> Ending:
    """Return the ending, or the failure that the database made of a success that it refused."""
    if ending.state != states.SUCCESS or state is JobState.COMPLETED:
        return ending
    text = f"the database refused the outcome of task {run.task.name}[{run.id}]; see the errors of its row"
    error = BackendStoreError(text, task_id=run.id, state=states.SUCCESS)
    einfo = ExceptionInfo(error)
    return Ending(einfo, TraceInfo(states.FAILURE, error, einfo))


def _send(run: Run, ending: Ending) -> None:
    """Send the signal of the ending's state."""
    if (signal := _SIGNALS.get(ending.state)) is None or not signal.receivers:
        return
    if signal is signals.task_success:
        signal.send(run.task, result=ending.value, runtime=ending.runtime)
    elif signal is signals.task_retry:
        signal.send(run.task, request=run.request, reason=ending.value, einfo=ending.einfo)
    else:
        tell_failure(run, ending.value, ending.einfo)


def tell_failure(run: Run, error: BaseException, einfo: ExceptionInfo | None) -> None:
    """Send `task_failure`."""
    signals.task_failure.send(
        run.task,
        task_id=run.id,
        exception=error,
        args=run.args,
        kwargs=run.kwargs,
        traceback=error.__traceback__,
        einfo=einfo,
    )


def tell_lost(run: Run, error: BaseException) -> None:
    """Send `task_failure` for a run that did not end by itself; the task is the current one meanwhile."""
    _state.push(_state.Frame(run.task, run.request, entered=True, in_worker=True))
    try:
        tell_failure(run, error, ExceptionInfo(error))
    finally:
        _state.pop()


def tell_internal_error(run: Run, error: BaseException) -> None:
    """Send `task_internal_error`: something around the task went wrong."""
    einfo = ExceptionInfo(get_pickleable_exception(error))
    signals.task_internal_error.send(
        run.task,
        task_id=run.id,
        args=run.args,
        kwargs=run.kwargs,
        request=run.request,
        exception=error,
        traceback=error.__traceback__,
        einfo=einfo,
    )


def _log(run: Run, ending: Ending) -> None:
    formats: Any = sys.modules["river_compat.celery.app.trace"]  # applications replace the formats there
    if ending.state == states.SUCCESS:
        text = formats.LOG_SUCCESS
        log_success(run.task, run.id, run.request, ending.value, ending.runtime, text)
    elif ending.state == states.RETRY:
        log_retry(run.task, run.id, run.request, ending.value, formats.LOG_RETRY)
    elif ending.einfo is not None:
        log_error(run.task, run.id, run.request, ending.value, ending.einfo)
