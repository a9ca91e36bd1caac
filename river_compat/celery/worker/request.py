"""The request that receivers of `task_received` get (`celery.worker.request`)."""

from __future__ import annotations

from river_compat.celery.worker_telling import ReceivedRequest

__all__ = ["Request"]

Request = ReceivedRequest
