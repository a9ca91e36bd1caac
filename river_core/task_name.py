"""The name of an adapter's task, read out of the envelope that its row carries."""

from __future__ import annotations

from river_core.errors import JobRowDecodeError
from river_core.job import decode_object

ADAPTER_KIND = "python_task"


def task_name(kind: str, encoded_args: str) -> str | None:
    """Return the task that an adapter's row calls; None for rows of other kinds and unreadable ones."""
    if kind != ADAPTER_KIND:
        return None
    try:
        task = decode_object("args", encoded_args).get("task")
    except JobRowDecodeError:
        return None
    name = task.get("name") if isinstance(task, dict) else None
    return name if isinstance(name, str) else None
