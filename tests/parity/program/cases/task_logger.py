"""Task loggers hang below celery.task, whatever their name. Rows 21.1, 21.2."""

import logging

from celery.utils.log import ColorFormatter, LoggingProxy, base_logger, get_logger, get_task_logger

from ..observation import raised


def observe():
    logger = get_task_logger("parity.cases")
    record = logging.makeLogRecord({"msg": "x", "levelname": "ERROR"})
    return {
        "name": logger.name,
        "parent": logger.parent.name,
        "same": logger is logging.getLogger("parity.cases"),
        "below": [base_logger.name, get_logger("celery.parity").parent.name],
        "coloured": ColorFormatter("%(message)s").format(record),
        "proxy": [LoggingProxy(logger, "ERROR").loglevel, LoggingProxy(logger).isatty()],
        "reserved": raised(get_task_logger, "celery")["error"],
    }
