"""`@shared_task`: tasks of libraries, which belong to whichever application is current."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state
from river_compat.celery.local import PromiseProxy, Proxy, maybe_evaluate

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery


def app_or_default(app: Celery | None = None) -> Celery:
    """Return `app`, or the current application."""
    return _state.get_current_app() if app is None else app


def shared_task(*args: Any, **options: Any) -> Any:
    """Make a task that every application gets a copy of; takes what `app.task` takes.

    The name stands for the copy in the current application. Raises TypeError for a first argument
    that cannot be called, and when it is applied to a task.
    """
    if len(args) == 1 and callable(args[0]):
        return _share(args[0], options)
    if args:
        raise TypeError("@shared_task takes a function or keyword options")

    def decorate(function: Callable[..., Any]) -> Any:
        if not callable(function):
            raise TypeError(f"@shared_task needs a function, not {function!r}")
        return _share(function, options)

    return decorate


def _share(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    if isinstance(function, PromiseProxy):
        function = maybe_evaluate(function)._decorated_function
    elif isinstance(function, Proxy):
        raise TypeError(f"@shared_task was applied more than once to {function!r}")
    name = options.get("name")

    def make(app: Celery) -> Any:
        return app.task_from_function(function, **options)

    _state.connect_on_app_finalize(make, _state.definition_key(function, name))
    for app in _state.live_apps():
        if app.finalized:
            make(app)

    def in_current_app() -> Any:
        app = _state.get_current_app()
        return app.tasks[name or app.gen_task_name(function.__name__, function.__module__)]

    return Proxy(in_current_app, function.__doc__)
