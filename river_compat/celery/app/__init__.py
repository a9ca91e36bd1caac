"""Applications and their tasks: the names of `celery.app`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from river_compat.celery import _state
from river_compat.celery._state import pop_current_task, push_current_task
from river_compat.celery.app.base import Celery
from river_compat.celery.app.shared import app_or_default, shared_task
from river_compat.celery.local import Proxy
from river_compat.celery.refused_names import refusing

__all__ = [
    "Celery",
    "app_or_default",
    "bugreport",
    "default_app",
    "pop_current_task",
    "push_current_task",
    "shared_task",
]

default_app: Any = Proxy(_state.get_default_app)
"""The application of threads that have none of their own."""


def bugreport(app: Celery | None = None) -> str:
    """Return versions and settings of an application, by default the current one."""
    return app_or_default(app).bugreport()


if not TYPE_CHECKING:
    __getattr__, _ = refusing(__name__)
