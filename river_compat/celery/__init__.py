"""Celery's names on a database: change the import and keep the code.

from river_compat.celery import Celery, shared_task
"""

from __future__ import annotations

from typing import Any

from kombu.utils.uuid import uuid

from river_compat.celery import states
from river_compat.celery._state import current_app, current_task
from river_compat.celery.app import bugreport
from river_compat.celery.app.base import Celery
from river_compat.celery.app.shared import shared_task
from river_compat.celery.app.task import Task
from river_compat.celery.canvas import (
    Signature,
    chain,
    chord,
    chunks,
    group,
    maybe_signature,
    signature,
    subtask,
    xmap,
    xstarmap,
)
from river_compat.celery.not_yet import RefusingFinder, refuse_name

__all__ = [
    "Celery",
    "Signature",
    "Task",
    "bugreport",
    "chain",
    "chord",
    "chunks",
    "current_app",
    "current_task",
    "group",
    "maybe_signature",
    "shared_task",
    "signature",
    "states",
    "subtask",
    "uuid",
    "xmap",
    "xstarmap",
]

VERSION: tuple[int, ...] = (5, 7, 0)
"""Of the Celery that this package behaves like; libraries ask for it."""
__version__ = "5.7.0"
__author__ = "the river-compat project"
__contact__ = "the project's issue tracker"
__homepage__ = "https://riverqueue.com/"
__docformat__ = "restructuredtext"

RefusingFinder.install()


def __getattr__(name: str) -> Any:
    """Say of Celery's other names that they are not here."""
    refuse_name(name)
