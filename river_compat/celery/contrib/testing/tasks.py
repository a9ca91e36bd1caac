"""The task by which `start_worker` sees that its worker answers."""

from __future__ import annotations

from typing import Any

from river_compat.celery.app.shared import shared_task


def _ping() -> str:
    return "pong"


ping: Any = shared_task(name="celery.ping")(_ping)
