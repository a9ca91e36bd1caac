"""Celery's names on a database: change the import and keep the code.

from river_compat.celery import Celery, shared_task
"""

from __future__ import annotations

from typing import Any

from kombu.utils.uuid import uuid

from river_compat.celery import states
from river_compat.celery._state import current_app, current_task
from river_compat.celery.app.base import Celery
from river_compat.celery.app.shared import shared_task
from river_compat.celery.app.task import Task
from river_compat.celery.exceptions import LATER, unsupported

__all__ = ["Celery", "Task", "current_app", "current_task", "shared_task", "states", "uuid"]

_CANVAS = frozenset(
    {"chain", "chord", "chunks", "group", "maybe_signature", "signature", "subtask", "xmap", "xstarmap"}
)


def __getattr__(name: str) -> Any:
    """Say of Celery's other names that they are not there yet."""
    if name in _CANVAS:
        raise unsupported(f"{name} (canvas)", LATER)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
