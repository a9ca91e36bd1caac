"""What a run of a task calls: the call itself and the handlers around it, all of which may be overridden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from river_compat.celery import _state
from river_compat.celery.request import Context


class Handlers:
    """The overridable parts of `Task`. By default a call runs the body and handlers do nothing."""

    run: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task here and now, as a function.

        Where a run calls it, from a `__call__` of one's own, the run's request stays.
        """
        task: Any = self
        running = _state.top_frame()
        if running is not None and _is_own_call(running, task):
            running.request.__dict__[IN_OWN_CALL] = True
            return self.run(*args, **kwargs)
        request = Context(args=args, kwargs=kwargs)
        _state.push(_state.Frame(task, request, True, _state.join_will_block()))
        try:
            return self.run(*args, **kwargs)
        finally:
            _state.pop()

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        """Called before the task runs."""

    def on_success(self, retval: Any, task_id: str, args: Any, kwargs: Any) -> None:
        """Called when the task has returned `retval`."""

    def on_retry(self, exc: Any, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        """Called when the task is to run again because of `exc`."""

    def on_failure(self, exc: Any, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        """Called when the task has failed with `exc`."""

    def after_return(
        self, status: str, retval: Any, task_id: str, args: Any, kwargs: Any, einfo: Any
    ) -> None:
        """Called last, after success and after failure, with the value or the exception."""


IN_OWN_CALL = "_in_own_call"


def _is_own_call(frame: _state.Frame, task: Handlers) -> bool:
    """Whether the run of a task has reached `Task.__call__` by the task's own `__call__`, the first time."""
    request = frame.request
    is_run = frame.task is task and not request.called_directly and IN_OWN_CALL not in request.__dict__
    return is_run and overrides(task, "__call__")


NAMES = ("__call__", "before_start", "on_success", "on_retry", "on_failure", "after_return")
ORIGINALS: dict[str, Callable[..., Any]] = {name: vars(Handlers)[name] for name in NAMES}


def overrides(task: Handlers, name: str) -> bool:
    """Whether the classes of a task, or a patch of `Task` itself, replace a part."""
    return getattr(type(task), name) is not ORIGINALS[name]
