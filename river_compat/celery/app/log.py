"""The worker's logging, with Celery's formats: the root logger, and lines of tasks with name and id."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state

if TYPE_CHECKING:
    from river_compat.celery.app.settings import Settings

UNKNOWN = "???"
TASK_LOGGER = "celery.task"


class TaskFormatter(logging.Formatter):
    """Gives each line the name and id of the task that wrote it, `???` outside of a task."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; `%(task_name)s` and `%(task_id)s` may be in the format."""
        frame = _state.top_frame()
        known = frame is not None and frame.request.id is not None
        record.__dict__.setdefault("task_id", frame.request.id if frame is not None and known else UNKNOWN)
        record.__dict__.setdefault("task_name", frame.task.name if frame is not None and known else UNKNOWN)
        return super().format(record)


def setup_worker_logging(conf: Settings, level: int | str, logfile: str | None = None) -> None:
    """Log to standard error, or to a file, as Celery's worker does.

    The root logger's handlers are replaced unless `worker_hijack_root_logger` is off.
    """
    root = logging.getLogger()
    if conf.worker_hijack_root_logger:
        for handler in list(root.handlers):
            root.removeHandler(handler)
    if not root.handlers:
        root.addHandler(_handler(logfile, logging.Formatter(conf.worker_log_format, conf.worker_log_datefmt)))
    root.setLevel(level)
    _setup_task_logger(conf, level, logfile)


def _setup_task_logger(conf: Settings, level: int | str, logfile: str | None) -> None:
    tasks = logging.getLogger(TASK_LOGGER)
    for handler in list(tasks.handlers):
        tasks.removeHandler(handler)
    formatter = TaskFormatter(conf.worker_task_log_format, conf.worker_task_log_datefmt)
    tasks.addHandler(_handler(logfile, formatter))
    tasks.setLevel(level)
    tasks.propagate = False


def _handler(logfile: str | None, formatter: logging.Formatter) -> logging.Handler:
    handler: logging.Handler = (
        logging.FileHandler(logfile, encoding="utf-8") if logfile else logging.StreamHandler(sys.__stderr__)
    )
    handler.setFormatter(formatter)
    return handler


def level_number(level: Any) -> int:
    """Return a log level given by name or number; raises ValueError for an unknown name."""
    if isinstance(level, int):
        return level
    number = logging.getLevelNamesMapping().get(str(level).upper())
    if number is None:
        raise ValueError(f"no log level is named {level!r}")
    return number
