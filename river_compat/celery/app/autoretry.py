"""Tasks that retry by themselves (`celery.app.autoretry`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from river_compat.celery.retries import add_autoretry, get_exponential_backoff_interval

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task

__all__ = ["add_autoretry_behaviour", "get_exponential_backoff_interval"]


def add_autoretry_behaviour(task: Task[..., Any], **options: Any) -> None:
    """Make a task retry by itself where these options, or its attributes, ask for it; harmless twice."""
    add_autoretry(task, options)
