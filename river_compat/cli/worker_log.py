"""JSON lines of a worker: with the name and id of the task that wrote them."""

from __future__ import annotations

import logging

from river_compat.celery.app.log import UNKNOWN, name_task
from river_compat.cli.logs import JsonFormatter


class WorkerJsonFormatter(JsonFormatter):
    """Adds `task_name` and `task_id` inside of tasks."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        name_task(record)
        if record.__dict__["task_id"] == UNKNOWN:
            del record.__dict__["task_id"], record.__dict__["task_name"]
        return super().format(record)
