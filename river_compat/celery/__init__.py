"""Celery's names on a database: change the import and keep the code.

from river_compat.celery import Celery, shared_task
"""

from __future__ import annotations

from typing import Any

from kombu.utils.uuid import uuid

from river_compat.celery import states, version
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
from river_compat.celery.version import (
    SERIES,
    VERSION,
    VERSION_BANNER,
    version_info,
    version_info_t,
)

__all__ = [
    "SERIES",
    "VERSION",
    "VERSION_BANNER",
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
    "version_info",
    "version_info_t",
    "xmap",
    "xstarmap",
]

__version__ = version.__version__
__author__ = "the river-compat project"
__contact__ = "the project's issue tracker"
__homepage__ = "https://riverqueue.com/"
__docformat__ = "restructuredtext"

RefusingFinder.install()


def __getattr__(name: str) -> Any:
    """Say of Celery's other names that they are not here."""
    refuse_name(name)
