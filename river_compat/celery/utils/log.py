"""Loggers of tasks, coloured lines, and standard output as a logger, under `celery.utils.log`."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from kombu.utils import encoding

from river_compat.celery.refused_names import refusing
from river_compat.celery.utils.term import colored

__all__ = [
    "LOG_LEVELS",
    "ColorFormatter",
    "LoggingProxy",
    "base_logger",
    "get_logger",
    "get_multiprocessing_logger",
    "get_task_logger",
    "in_sighandler",
    "logger",
    "logger_isa",
    "mlevel",
    "reset_multiprocessing_logger",
    "set_in_sighandler",
    "task_logger",
    "worker_logger",
]

safe_str: Any = encoding.safe_str
RESERVED_LOGGER_NAMES = frozenset({"celery", "celery.task"})
LOG_LEVELS: dict[Any, Any] = {
    **logging.getLevelNamesMapping(),
    **{number: name for name, number in logging.getLevelNamesMapping().items()},
}

base_logger = logger = logging.getLogger("celery")
task_logger = logging.getLogger("celery.task")
worker_logger = logging.getLogger("celery.worker")


class _SignalHandling:
    """Whether this process is inside of a signal handler, where logging might wait for itself."""

    active = False


def set_in_sighandler(value: bool) -> None:
    """Say whether a signal handler runs."""
    _SignalHandling.active = value


@contextmanager
def in_sighandler() -> Iterator[None]:
    """Say that a signal handler runs during the block."""
    set_in_sighandler(True)
    try:
        yield
    finally:
        set_in_sighandler(False)


def logger_isa(
    l: logging.Logger,  # noqa: E741 - the parameters are Celery's
    p: logging.Logger,
    max: int = 1000,  # noqa: A002
) -> bool:
    """Whether a logger is another one, or below it, at most `max` loggers.

    Raises RuntimeError where the parents form a ring, or are more."""
    seen: set[logging.Logger] = set()
    this: logging.Logger | None = l
    while this is not None:
        if this is p:
            return True
        if this in seen:
            raise RuntimeError(f"the parents of logger {l.name!r} form a ring")
        if len(seen) >= max:
            raise RuntimeError(f"logger {l.name!r} has more than {max} parents")
        seen.add(this)
        this = this.parent
    return False


def get_logger(name: str | logging.Logger) -> logging.Logger:
    """Return a logger, below `celery` unless it hangs directly below the root."""
    found = logging.getLogger(name) if isinstance(name, str) else name
    if found is not base_logger and found is not logging.root and found.parent is not logging.root:
        _adopt(base_logger, found)
    return found


def get_task_logger(name: str) -> logging.Logger:
    """Return a logger below `celery.task`, whose lines carry the task's name and id.

    Raises RuntimeError for a name that is reserved.
    """
    if name in RESERVED_LOGGER_NAMES:
        raise RuntimeError(f"the logger name {name!r} is reserved")
    return _adopt(task_logger, get_logger(name))


def _adopt(parent: logging.Logger, child: logging.Logger) -> logging.Logger:
    if not logger_isa(child, parent):
        child.parent = parent
    return child


def mlevel(level: Any) -> Any:
    """Return a log level given by its name as its number; a number, or nothing, as it is."""
    if level and not isinstance(level, int):
        return LOG_LEVELS[str(level).upper()]
    return level


class ColorFormatter(logging.Formatter):
    """Colours lines by their level."""

    COLORS: ClassVar[dict[str, Any]] = colored().names
    colors: ClassVar[dict[str, Any]] = {
        "DEBUG": COLORS["blue"],
        "WARNING": COLORS["yellow"],
        "ERROR": COLORS["red"],
        "CRITICAL": COLORS["magenta"],
    }

    def __init__(self, fmt: str | None = None, use_color: bool = True, datefmt: str | None = None) -> None:
        """Take formats, and whether to use colours."""
        super().__init__(fmt, datefmt)
        self.use_color = use_color

    def formatException(self, ei: Any) -> Any:  # noqa: N802 - the name is logging's
        """Return the text of an exception; any true value means the one that is handled."""
        return super().formatException(sys.exc_info() if ei and not isinstance(ei, tuple) else ei)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. A message that cannot be coloured is replaced by what it is."""
        line: Any = super().format(record)
        color = self.colors.get(record.levelname) if self.use_color else None
        if color is None:
            return str(safe_str(line))
        try:
            return str(color(safe_str(line))) if isinstance(line, str) else str(safe_str(color(line)))
        except Exception as error:  # noqa: BLE001 - a log line must not fail
            return self._unrepresentable(record, line, error)

    def _unrepresentable(self, record: logging.LogRecord, line: Any, error: Exception) -> str:
        message, exc_info = record.msg, record.exc_info
        record.msg, record.args = f"<Unrepresentable {type(line)!r}: {error!r}>", ()
        try:
            return super().format(record)
        finally:
            record.msg, record.exc_info = message, exc_info


class LoggingProxy:
    """A file whose lines go to a logger: what `print` writes where standard output is redirected."""

    mode = "w"
    name = None
    closed = False
    encoding = "utf-8"
    errors = "replace"
    loglevel = logging.ERROR
    _thread = threading.local()

    def __init__(self, logger: logging.Logger, loglevel: int | str | None = None) -> None:
        """Write at `loglevel`, else at the logger's own level."""
        self.logger = logger
        self.loglevel = mlevel(loglevel or logger.level or self.loglevel)
        for handler in logger.handlers:
            # What goes wrong in a handler is written to standard error, which may be this very file.
            handler.handleError = _print_error  # type: ignore[method-assign]

    def write(self, data: str | bytes) -> int:
        """Log a text, without the line's end; returns its length, 0 where nothing was logged.

        Nothing is logged of what the logger itself writes here. Inside of a signal handler the text goes to
        standard error.
        """
        text: str = safe_str(data)
        if _SignalHandling.active:
            print(text, file=sys.__stderr__)
            return len(text)
        text = text.rstrip("\n")
        if not text or self.closed or getattr(self._thread, "recurse_protection", False):
            return 0
        self._thread.recurse_protection = True
        try:
            self.logger.log(self.loglevel, "%s", text)
        finally:
            self._thread.recurse_protection = False
        return len(text)

    def writelines(self, sequence: Iterable[str | bytes]) -> None:
        """Log each text."""
        for part in sequence:
            self.write(part)

    def flush(self) -> None:
        """Do nothing: every text is logged at once."""

    def close(self) -> None:
        """Log nothing more."""
        self.closed = True

    def isatty(self) -> bool:
        """Be no terminal."""
        return False


def _print_error(record: logging.LogRecord) -> None:
    del record
    try:
        traceback.print_exc(None, sys.__stderr__)
    except OSError:
        return  # there is nowhere left to say it


def get_multiprocessing_logger() -> logging.Logger | None:
    """Return billiard's logger, None where billiard is not installed."""
    try:
        from billiard import util
    except ImportError:
        return None
    found: logging.Logger = util.get_logger()
    return found


def reset_multiprocessing_logger() -> None:
    """Let billiard make its logger anew."""
    try:
        from billiard import util
    except ImportError:
        return
    if hasattr(util, "_logger"):
        util._logger = None


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
