"""The tasks of the current application, under the old name `celery.registry.tasks`."""

from __future__ import annotations

from typing import Any

from river_compat.celery._state import get_current_app
from river_compat.celery.local import Proxy

__all__ = ["tasks"]

tasks: Any = Proxy(lambda: get_current_app().tasks)
