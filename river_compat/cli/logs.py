"""Log lines of a command: text for people, JSON for machines; the facts in `extra` appear in both.

A worker's text lines are not made here: they follow Celery's format settings
(`river_compat.celery.app.log`).
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
FORMATS = ("text", "json")
TEXT_LAYOUT = "[%(asctime)s: %(levelname)s/%(threadName)s] %(message)s"


def facts(record: logging.LogRecord) -> dict[str, Any]:
    """Return what a log call gave as `extra`, as far as it is plain.

    Nested data stays out: Celery's log calls put a task's arguments there, and those are not logged.
    """
    given = ((key, value) for key, value in record.__dict__.items() if key not in _STANDARD)
    return {key: value for key, value in given if isinstance(value, str | int | float | list | tuple)}


class TextFormatter(logging.Formatter):
    """`[time: LEVEL/thread] message key=value`."""

    def __init__(self) -> None:
        """Take no options."""
        super().__init__(TEXT_LAYOUT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        """Append the facts to the line, before any traceback."""
        pairs = "".join(f" {key}={value}" for key, value in facts(record).items())
        return super().formatMessage(record) + pairs


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, thread, message, then the facts."""

    def __init__(self, fmt: str | None = None, use_color: bool = False, datefmt: str | None = None) -> None:
        """Take what other formatters take; the format of JSON is always the same."""
        super().__init__()

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; what JSON does not have is written as its text."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "thread": record.threadName,
            "message": record.getMessage(),
            **facts(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def configure_for_command(verbosity: int) -> None:
    """Log warnings to standard error, everything with `-v`, errors only with `-q`."""
    level = {-1: logging.ERROR, 0: logging.WARNING}.get(verbosity, logging.DEBUG)
    _configure(level, logging.StreamHandler(), TextFormatter())


def _configure(level: int, handler: logging.Handler, formatter: logging.Formatter) -> None:
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler], force=True)
