"""How a task belongs to an application: what it takes from settings and from `task_annotations`.

`bind` and `annotate` work on a task, and on a task's class as Celery's do.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state
from river_compat.celery.app.annotations import resolve_all
from river_compat.celery.app.definition import levels_to_the_caller
from river_compat.celery.exceptions import CDeprecationWarning, ImproperlyConfigured

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

FROM_SETTINGS = {
    "acks_late": "task_acks_late",
    "acks_on_failure": "task_acks_on_failure",
    "acks_on_failure_or_timeout": "task_acks_on_failure_or_timeout",
    "acks_on_timeout": "task_acks_on_timeout",
    "compression": "task_compression",
    "ignore_result": "task_ignore_result",
    "priority": "task_default_priority",
    "rate_limit": "task_default_rate_limit",
    "reject_on_worker_lost": "task_reject_on_worker_lost",
    "retry_on_worker_lost": "task_retry_on_worker_lost",
    "serializer": "task_serializer",
    "soft_time_limit": "task_soft_time_limit",
    "store_eager_result": "task_store_eager_result",
    "store_errors_even_if_ignored": "task_store_errors_even_if_ignored",
    "time_limit": "task_time_limit",
    "track_started": "task_track_started",
}


_ROUTING = ("queue", "exchange", "exchange_type", "routing_key", "delivery_mode", "priority")


def _warn_of_routing(task: Any) -> None:
    """Warn, as Celery does, of attributes that its version 6 will not read; here they go on to count."""
    for name in _ROUTING:
        if name in vars(task if isinstance(task, type) else type(task)):
            text = f"The {name!r} task attribute is deprecated: Celery 6.0 will not read it; use task_routes"
            warnings.warn(CDeprecationWarning(text), stacklevel=levels_to_the_caller())


class OnClassOrInstance:
    """A method that is given the class where it is called on one, else the instance."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Take the function."""
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, obj: Any, cls: Any = None) -> Any:
        """Return the bound method."""
        return MethodType(self._function, cls if obj is None else obj)


class ApplicationOfTask:
    """`Task.app`, on a task and on its class: the application it is bound to, else the current one."""

    def __get__(self, obj: Any, cls: Any = None) -> Any:
        """Return the application."""
        app = (cls if obj is None else obj)._app
        return app if app is not None else _state.get_current_app()

    def __set__(self, obj: Any, app: Any) -> None:
        """Belong to another one."""
        obj._app = app


class Binding:
    """The part of a task that knows its application."""

    typing: bool | None
    acks_late: bool | None
    acks_late_of_task: bool | None
    ignore_result: bool | None
    river_delete_row: bool
    name: Any
    _app: Any = None

    app: Any = ApplicationOfTask()

    def _bind(self, app: Celery) -> Celery:
        """Belong to `app` and take the options that the task leaves open from its settings."""
        self._app = app
        _warn_of_routing(self)
        if self.typing is None:
            self.typing = app.strict_typing
        self.acks_late_of_task = self.acks_late
        for option, setting in FROM_SETTINGS.items():
            if getattr(self, option, None) is None:
                setattr(self, option, app.conf[setting])
        self.annotate()
        if self.river_delete_row and not self.ignore_result:
            raise ImproperlyConfigured(
                f"task {self.name}: river_delete_row leaves no result to wait for; set ignore_result=True too"
            )
        self.on_bound(app)
        return app

    bind: Any = OnClassOrInstance(_bind)

    @classmethod
    def on_bound(cls, app: Celery) -> None:
        """Called when the task is bound to an application; may be overridden."""

    def _annotate(self) -> None:
        """Take what `task_annotations` says of this task; it may be called again."""
        for found in resolve_all(self.app.annotations, self):
            for name, value in found.items():
                if name.startswith("@"):
                    self.add_around(name[1:], value)
                else:
                    setattr(self, name, value)

    annotate: Any = OnClassOrInstance(_annotate)

    @classmethod
    def add_around(cls, attr: str, around: Callable[[Any], Any]) -> None:
        """Wrap a method of the class; a wrapper that was put there before is replaced."""
        is_static = isinstance(inspect.getattr_static(cls, attr), staticmethod)
        current = getattr(cls, attr)
        original = getattr(current, "__annotated__", current)
        wrapped = around(original)

        @wraps(original)
        def method(*args: Any, **kwargs: Any) -> Any:
            return wrapped(*args, **kwargs)

        method.__annotated__ = original  # type: ignore[attr-defined]
        setattr(cls, attr, staticmethod(method) if is_static else method)
