"""The request that receivers of `task_received` get (`celery.worker.request`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from river_compat.celery.refused_names import refusing
from river_compat.celery.worker_telling import ReceivedRequest

__all__ = ["Request"]

Request = ReceivedRequest


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
