"""The worker under its other name (`celery.worker.worker`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from river_compat.celery.refused_names import refusing
from river_compat.celery.worker import WorkController

__all__ = ["WorkController"]

if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
