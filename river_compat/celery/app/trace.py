"""Runs a task once: body, handlers and log lines in Celery's order, as a value that says how it ended.

The worker and eager mode share it. Arguments are never logged. River's control flow, SystemExit and
KeyboardInterrupt pass through without any handler.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state, states
from river_compat.celery.app.handlers import overrides
from river_compat.celery.control_flow import carries_control_flow
from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.exceptions import Ignore, Reject, Retry
from river_compat.celery.request import Context
from river_compat.celery.utils.serialization import get_pickleable_exception
from river_compat.shortened import short_repr

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task

logger = logging.getLogger("celery.app.trace")

Settle = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Ending:
    """How one run ended. `value` is the return value or the exception, `settled` what is stored."""

    state: str
    value: Any
    settled: Any = None
    einfo: ExceptionInfo | None = None


class Tracer:
    """Runs one task. Made once for each task, used for each of its runs."""

    __slots__ = ("_after_return", "_before_start", "_body", "_on_failure", "_on_retry", "_on_success", "task")

    def __init__(self, task: Task[..., Any]) -> None:
        """Look once which handlers the task has; those it has not cost nothing per run."""
        self.task = task
        self._body: Callable[..., Any] = task if overrides(task, "__call__") else task.run
        self._before_start = task.before_start if overrides(task, "before_start") else None
        self._on_success = task.on_success if overrides(task, "on_success") else None
        self._on_failure = task.on_failure if overrides(task, "on_failure") else None
        self._on_retry = task.on_retry if overrides(task, "on_retry") else None
        self._after_return = task.after_return if overrides(task, "after_return") else None

    def trace(self, request: Context, settle: Settle, eager: bool = False, propagate: bool = False) -> Ending:
        """Run the task for `request`.

        `settle` turns the return value into what is stored and may raise, which fails the run. With
        `eager` errors of handlers are raised, with `propagate` those of the task, too.
        """
        _state.push(_state.Frame(self.task, request, True, not eager or _state.join_will_block()))
        started = time.monotonic()
        try:
            ending = self._run(request, settle, eager, propagate, started)
            if self._after_return is not None and ending.state in (states.SUCCESS, states.FAILURE):
                after = (ending.state, ending.value, request.id, request.args, request.kwargs, None)
                self._handle(self._after_return, after, eager)
            return ending
        finally:
            _state.pop()

    def _run(self, request: Context, settle: Settle, eager: bool, propagate: bool, started: float) -> Ending:
        args, kwargs = request.args, request.kwargs
        try:
            if self._before_start is not None:
                self._before_start(request.id, args, kwargs)
            value = self._body(*args, **kwargs)
            settled = settle(value)
        except Ignore as error:
            return self._ignored(request, error)
        except Reject as error:
            return self._rejected(request, error)
        except Exception as error:
            if propagate or carries_control_flow(error):
                raise
            if isinstance(error, Retry):
                return self._retried(request, error, eager)
            return self._failed(request, error, eager)
        if self._on_success is not None:
            self._handle(self._on_success, (value, request.id, args, kwargs), eager)
        if logger.isEnabledFor(logging.INFO):
            self._log_success(request, value, time.monotonic() - started)
        return Ending(states.SUCCESS, value, settled)

    def _retried(self, request: Context, error: Retry, eager: bool) -> Ending:
        einfo = ExceptionInfo(error)
        if self._on_retry is not None:
            arguments = (error.exc, request.id, request.args, request.kwargs, einfo)
            self._handle(self._on_retry, arguments, eager)
        self._log(logging.INFO, "Task %(name)s[%(id)s] retry: %(exc)s", request, exc=str(error))
        return Ending(states.RETRY, error, einfo=einfo)

    def _failed(self, request: Context, error: Exception, eager: bool) -> Ending:
        einfo = ExceptionInfo(error)
        shown = get_pickleable_exception(error)
        if self._on_failure is not None:
            self._handle(self._on_failure, (shown, request.id, request.args, request.kwargs, einfo), eager)
        expected = bool(self.task.throws) and isinstance(error, tuple(self.task.throws))
        self._log(
            logging.INFO if expected else logging.ERROR,
            "Task %(name)s[%(id)s] %(description)s: %(exc)s",
            request,
            None if expected else einfo,
            exc=short_repr(error),
            description="raised expected" if expected else "raised unexpected",
            traceback=einfo.traceback,
            internal=False,
        )
        return Ending(states.FAILURE, shown, einfo=einfo)

    def _ignored(self, request: Context, error: Ignore) -> Ending:
        self._log(logging.INFO, "Task %(name)s[%(id)s] %(description)s", request, description="ignored")
        return Ending(states.IGNORED, error)

    def _rejected(self, request: Context, error: Reject) -> Ending:
        einfo = ExceptionInfo(error)
        self._log(logging.WARNING, "Task %(name)s[%(id)s] %(exc)s", request, einfo, exc=repr(error))
        return Ending(states.REJECTED, error, einfo=einfo)

    def _log_success(self, request: Context, value: Any, runtime: float) -> None:
        self._log(
            logging.INFO,
            "Task %(name)s[%(id)s] succeeded in %(runtime).6fs: %(return_value)s",
            request,
            runtime=runtime,
            return_value=short_repr(value, self.task.resultrepr_maxsize),
        )

    def _log(
        self, level: int, text: str, request: Context, einfo: ExceptionInfo | None = None, **facts: Any
    ) -> None:
        if not logger.isEnabledFor(level):
            return
        data: Mapping[str, Any] = {"id": request.id, "name": request.shadow or self.task.name, **facts}
        exc_info = einfo.exc_info if einfo is not None else None
        logger.log(level, text, data, extra={"data": data}, exc_info=exc_info)

    def _handle(self, handler: Callable[..., Any], arguments: tuple[Any, ...], eager: bool) -> None:
        """Call a handler. In a worker its errors are logged: the outcome of the task stands."""
        try:
            handler(*arguments)
        except Exception as error:
            if eager or carries_control_flow(error):
                raise
            logger.exception("a handler of task %s raised", self.task.name)
