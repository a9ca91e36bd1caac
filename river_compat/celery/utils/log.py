"""Loggers of tasks, under the path that applications import (`celery.utils.log`)."""

from __future__ import annotations

import logging

RESERVED_LOGGER_NAMES = frozenset({"celery", "celery.task"})

base_logger = logging.getLogger("celery")
task_logger = logging.getLogger("celery.task")
worker_logger = logging.getLogger("celery.worker")

__all__ = ["base_logger", "get_logger", "get_task_logger", "task_logger", "worker_logger"]


def get_logger(name: str) -> logging.Logger:
    """Return a logger below `celery`."""
    logger = logging.getLogger(name)
    if logger is not base_logger and logger.parent is not logging.root:
        _adopt(base_logger, logger)
    return logger


def get_task_logger(name: str) -> logging.Logger:
    """Return a logger below `celery.task`, whose lines carry the task's name and id.

    Raises RuntimeError for a name that is reserved.
    """
    if name in RESERVED_LOGGER_NAMES:
        raise RuntimeError(f"the logger name {name!r} is reserved")
    return _adopt(task_logger, logging.getLogger(name))


def _adopt(parent: logging.Logger, logger: logging.Logger) -> logging.Logger:
    ancestor: logging.Logger | None = logger
    while ancestor is not None and ancestor is not parent:
        ancestor = ancestor.parent
    if ancestor is None:
        logger.parent = parent
    return logger
