"""Task loggers hang below celery.task, whatever their name. Row 21.1."""

import logging

from celery.utils.log import get_task_logger

from ..observation import raised


def observe():
    logger = get_task_logger("parity.cases")
    return {
        "name": logger.name,
        "parent": logger.parent.name,
        "same": logger is logging.getLogger("parity.cases"),
        "reserved": raised(get_task_logger, "celery")["error"],
    }
