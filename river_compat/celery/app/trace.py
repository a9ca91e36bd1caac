"""Runs a task once, in Celery's order: what comes before the body, the body, and what is told afterwards.

The worker and eager mode share it, by `build_tracer`, which libraries wrap. Arguments are not logged unless
a format asks for them. River's control flow, SystemExit and KeyboardInterrupt pass through every handler;
only `task_postrun` hears of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state, signals, states
from river_compat.celery.app.handlers import overrides
from river_compat.celery.control_flow import carries_control_flow
from river_compat.celery.coroutines import awaited
from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.exceptions import Ignore, InvalidTaskError, Reject, Retry
from river_compat.celery.leftovers import explained
from river_compat.celery.loaders.base import BaseLoader
from river_compat.celery.local import maybe_evaluate
from river_compat.celery.refused_names import refusing
from river_compat.celery.request import STORING, Context, Storing
from river_compat.celery.successor import scheduled_rows
from river_compat.celery.telling import Run, Teller, tell_internal_error
from river_compat.celery.trace_ending import Ending, TraceInfo
from river_compat.celery.trace_log import (
    LOG_FAILURE,
    LOG_IGNORED,
    LOG_INTERNAL_ERROR,
    LOG_RECEIVED,
    LOG_REJECTED,
    LOG_RETRY,
    LOG_SUCCESS,
    get_log_policy,
    get_task_name,
    log_policy_expected,
    log_policy_ignore,
    log_policy_internal,
    log_policy_reject,
    log_policy_unexpected,
    logger,
)
from river_compat.celery.utils.serialization import get_pickleable_exception
from river_core.job import JobState

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.app.task import Task

__all__ = [
    "LOG_FAILURE",
    "LOG_IGNORED",
    "LOG_INTERNAL_ERROR",
    "LOG_RECEIVED",
    "LOG_REJECTED",
    "LOG_RETRY",
    "LOG_SUCCESS",
    "Ending",
    "TraceInfo",
    "Tracer",
    "build_tracer",
    "get_log_policy",
    "get_task_name",
    "log_policy_expected",
    "log_policy_ignore",
    "log_policy_internal",
    "log_policy_reject",
    "log_policy_unexpected",
    "logger",
    "task_has_custom",
]

REJECTED, IGNORED = states.REJECTED, states.IGNORED
FAILURE, RETRY, STARTED, SUCCESS = states.FAILURE, states.RETRY, states.STARTED, states.SUCCESS
EXCEPTION_STATES = states.EXCEPTION_STATES
IGNORE_STATES = frozenset({IGNORED, RETRY, REJECTED})

_NO_STORE = Storing(lambda value: value)


def build_tracer(
    name: str,
    task: Task[..., Any],
    loader: Any = None,
    hostname: str | None = None,
    store_errors: bool = True,
    Info: Any = None,  # noqa: N803 - the name is Celery's
    eager: bool = False,
    propagate: bool = False,
    app: Celery | None = None,
    IGNORE_STATES: Any = None,  # noqa: N803
    **_: Any,
) -> Tracer:
    """Return what runs a task: called with its id, arguments and request, it returns an `Ending`.

    With `eager` errors of handlers are raised, with `propagate` those of the task, too. The worker and
    eager mode look this name up in the module at each use, so that libraries may wrap it. The other
    parameters are Celery's, and not needed.
    """
    del name, loader, hostname, store_errors, Info, app, IGNORE_STATES
    return Tracer(maybe_evaluate(task), eager, propagate)


def task_has_custom(task: Task[..., Any], attr: str) -> bool:
    """Whether a task replaces a handler of `Task`."""
    return overrides(maybe_evaluate(task), attr)


class Tracer:
    """Runs one task. Made once for each task of a worker, used for each of its runs."""

    __slots__ = (
        "_before_start",
        "_body",
        "_cleanup",
        "_eager",
        "_propagate",
        "_task_init",
        "_teller",
        "task",
    )

    def __init__(self, task: Task[..., Any], eager: bool = False, propagate: bool = False) -> None:
        """Look once which handlers the task has; those it has not cost nothing per run."""
        self.task = task
        self._eager = eager
        self._propagate = propagate
        body: Any = task if overrides(task, "__call__") else task.run
        self._body: Any = awaited(body) if iscoroutinefunction(task.run) else body
        self._before_start = task.before_start if overrides(task, "before_start") else None
        self._teller = Teller(task, eager)
        self._task_init = _overridden(task.app.loader, "on_task_init")
        self._cleanup = None if eager else _overridden(task.app.loader, "on_process_cleanup")

    def __call__(self, uuid: str, args: Any, kwargs: Any, request: Any = None) -> Ending:
        """Run the task once."""
        if not isinstance(kwargs, Mapping):
            raise InvalidTaskError("the keyword arguments of a task are a mapping")
        context = _context(request, args, kwargs)
        storing: Storing = context.__dict__.get(STORING, _NO_STORE)
        run = Run(self.task, uuid, args, kwargs, context, time.monotonic())
        ending: Ending | None = None
        later = False
        self._push(context)
        try:
            ending = self._run(run, storing)
            later = self._tell(run, ending, storing)
            return ending
        finally:
            if not later:
                self._end(run, ending)
            _state.pop()

    def _end(self, run: Run, ending: Ending | None) -> None:
        """Do what comes last, whatever came of the run."""
        self._teller.postrun(run, ending)
        if self._cleanup is not None:
            try:
                self._cleanup()
            except Exception:  # noqa: BLE001 - it is logged, and the run is over
                logger.exception("on_process_cleanup of the loader raised")

    def _push(self, context: Context) -> None:
        blocks = not self._eager or _state.join_will_block()
        _state.push(_state.Frame(self.task, context, entered=True, in_worker=blocks))

    def _run(self, run: Run, storing: Storing) -> Ending:
        args, kwargs = run.args, run.kwargs
        if signals.task_prerun.receivers:
            signals.task_prerun.send(self.task, task_id=run.id, task=self.task, args=args, kwargs=kwargs)
        if self._task_init is not None:
            try:
                self._task_init(run.id, self.task)
            except Exception as error:
                if self._eager:
                    raise
                tell_internal_error(run, error)
                return _failed(error, storing)
        try:
            if self._before_start is not None:
                self._before_start(run.id, args, kwargs)
            value = self._body(*args, **kwargs)
            settled = storing.settle(value)
        except Ignore as error:
            return _ending(states.IGNORED, error)
        except Reject as error:
            return _ending(states.REJECTED, error)
        except Exception as error:
            if self._propagate or carries_control_flow(error):
                raise
            return self._raised(run, error, storing)
        return Ending(value, None, time.monotonic() - run.started, None, settled)

    def _raised(self, run: Run, error: Exception, storing: Storing) -> Ending:
        behind = error.exc if isinstance(error, Retry) else error
        if (wrong := explained(behind)) is not None:
            logger.error("task %s[%s]: %s", self.task.name, run.id, wrong)
        if not isinstance(error, Retry):
            return _failed(error, storing)
        if error.sig is None and not self._eager and not scheduled_rows(run.request):
            try:
                self._retry_by_hand(run, error)
            except Exception as refused:  # noqa: BLE001 - past the limit, or not storable
                return _failed(refused, storing)
        return _ending(states.RETRY, error)

    def _retry_by_hand(self, run: Run, retry: Retry) -> None:
        """Schedule the next run for `raise Retry(...)`, which in Celery would be lost."""
        logger.warning("task %s[%s] raised Retry itself; use self.retry()", self.task.name, run.id)
        when: Any = retry.when
        eta, countdown = (when, None) if hasattr(when, "isoformat") else (None, when)
        self.task.retry(exc=retry.exc, throw=False, eta=eta, countdown=countdown)

    def _tell(self, run: Run, ending: Ending, storing: Storing) -> bool:
        """Tell handlers and receivers how it ended; return whether that waits for the outcome's write."""
        if storing.after_write is None or not self._teller.is_heard(ending):
            self._teller.tell(run, ending)
            return False

        def written(state: JobState | None) -> None:
            self._push(run.request)
            try:
                self._end(run, self._teller.tell_written(run, ending, state))
            finally:
                _state.pop()

        storing.after_write(written)
        return True


def _overridden(loader: Any, name: str) -> Any:
    """Return a method of an application's loader if it is more than the base's, which does nothing."""
    return None if getattr(type(loader), name) is getattr(BaseLoader, name) else getattr(loader, name)


def _context(request: Any, args: Any, kwargs: Any) -> Context:
    if isinstance(request, Context):
        return request
    return Context(request or {}, args=args, kwargs=kwargs, called_directly=False)


def _ending(state: str, error: BaseException) -> Ending:
    einfo = ExceptionInfo(error)
    return Ending(einfo, TraceInfo(state, error, einfo))


def _failed(error: BaseException, storing: Storing) -> Ending:
    einfo = ExceptionInfo(error)
    shown = get_pickleable_exception(error)
    if storing.failed is not None:
        storing.failed(shown, einfo)
    return Ending(einfo, TraceInfo(states.FAILURE, shown, einfo))


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
