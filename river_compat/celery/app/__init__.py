"""Applications and their tasks: the names of `celery.app`."""

from __future__ import annotations

from river_compat.celery.app.base import Celery
from river_compat.celery.app.shared import app_or_default, shared_task

__all__ = ["Celery", "app_or_default", "shared_task"]
