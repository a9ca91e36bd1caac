"""The logging of workers and other programs, with Celery's formats and signals: `app.log`."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from logging.handlers import WatchedFileHandler
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state, signals
from river_compat.celery.exceptions import CDeprecationWarning, CPendingDeprecationWarning
from river_compat.celery.refused_names import refusing
from river_compat.celery.utils.log import (
    ColorFormatter,
    LoggingProxy,
    get_logger,
    get_multiprocessing_logger,
    mlevel,
    reset_multiprocessing_logger,
)
from river_compat.celery.utils.nodenames import node_format
from river_compat.celery.utils.term import colored

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.utils.dispatch import Signal

__all__ = ["Logging", "TaskFormatter", "level_number", "name_task"]

UNKNOWN = "???"
OWN_LOGGERS = ("celery", "celery.task", "celery.redirected")


def name_task(record: logging.LogRecord) -> None:
    """Give a record the name and id of the task that wrote it, `???` outside of a task."""
    frame = _state.top_frame()
    if frame is not None and frame.request.id is not None:
        record.__dict__.update(task_id=frame.request.id, task_name=frame.task.name)
    else:
        record.__dict__.setdefault("task_id", UNKNOWN)
        record.__dict__.setdefault("task_name", UNKNOWN)


class TaskFormatter(ColorFormatter):
    """Formats lines of tasks: `%(task_name)s` and `%(task_id)s` may be in the format."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        name_task(record)
        return super().format(record)


class Logging:
    """Sets logging up, once per process, as the settings of an application say."""

    _setup = False

    def __init__(self, app: Celery) -> None:
        """Read the settings."""
        self.app = app
        self.loglevel: Any = logging.WARNING
        self.format = app.conf.worker_log_format
        self.datefmt = app.conf.worker_log_datefmt
        self.task_format = app.conf.worker_task_log_format
        self.task_datefmt = app.conf.worker_task_log_datefmt
        self.colorize = app.conf.worker_log_color

    @property
    def already_setup(self) -> bool:
        """Whether logging was set up in this process; nothing sets it up twice."""
        return Logging._setup

    @already_setup.setter
    def already_setup(self, was_setup: bool) -> None:
        Logging._setup = was_setup

    def setup(
        self,
        loglevel: int | str | None = None,
        logfile: Any = None,
        redirect_stdouts: bool = False,
        redirect_level: int | str = "WARNING",
        colorize: bool | None = None,
        hostname: str | None = None,
        **options: Any,
    ) -> Any:
        """Set logging up, let warnings be logged, and standard output too with `redirect_stdouts`.

        Returns what `setup_logging_subsystem` does: where `setup_logging` has receivers, all of it is theirs.
        """
        loglevel = mlevel(loglevel)
        handled = self.setup_logging_subsystem(
            loglevel, logfile, colorize=colorize, hostname=hostname, **options
        )
        if not handled and redirect_stdouts:
            self.redirect_stdouts(redirect_level)
        os.environ.update(CELERY_LOG_LEVEL=str(loglevel or ""), CELERY_LOG_FILE=str(logfile or ""))
        warnings.filterwarnings("always", category=CDeprecationWarning)
        warnings.filterwarnings("always", category=CPendingDeprecationWarning)
        logging.captureWarnings(True)
        return handled

    def setup_logging_subsystem(
        self,
        loglevel: int | str | None = None,
        logfile: Any = None,
        format: str | None = None,  # noqa: A002 - the keyword is Celery's
        colorize: bool | None = None,
        hostname: str | None = None,
        datefmt: str | None = None,
        **options: Any,
    ) -> list[Any] | None:
        """Set up the root logger, unless `setup_logging` has receivers; raises what one of them raises.

        The root's handlers are replaced unless `worker_hijack_root_logger` is off. `logfile` is a path, in
        which `%n` and the like are filled in, or an open stream; standard error is the default. Returns the
        receivers with their answers, None where logging was set up before.
        """
        if self.already_setup:
            return None
        if isinstance(logfile, str | os.PathLike):
            logfile = node_format(os.fspath(logfile), hostname) if hostname else os.fspath(logfile)
        reset_multiprocessing_logger()
        facts = {
            "loglevel": mlevel(loglevel or self.loglevel),
            "logfile": logfile,
            "format": format or self.format,
            "colorize": self.supports_color(colorize, logfile),
        }
        receivers = _sent(signals.setup_logging, facts)
        self.already_setup = True
        if not receivers:
            self._set_up(facts, self.datefmt if datefmt is None else datefmt, options)
        return receivers

    def _set_up(self, facts: dict[str, Any], datefmt: str | None, options: dict[str, Any]) -> None:
        loglevel, logfile = facts["loglevel"], facts["logfile"]
        root = logging.getLogger()
        if self.app.conf.worker_hijack_root_logger:
            for found in (root, *map(get_logger, OWN_LOGGERS)):
                found.handlers = []
        shape = (facts["format"], facts["colorize"])
        self._configure_logger(root, logfile, loglevel, *shape, datefmt=datefmt, **options)
        ours = get_multiprocessing_logger()
        self._configure_logger(ours, logfile, logging.ERROR, *shape, datefmt=datefmt, **options)
        signals.after_setup_logger.send(None, logger=root, **facts)
        self.setup_task_loggers(loglevel, logfile, colorize=facts["colorize"], **options)

    def _configure_logger(
        self,
        logger: logging.Logger | None,
        logfile: Any,
        loglevel: Any,
        format: str,  # noqa: A002
        colorize: bool | None,
        **options: Any,
    ) -> None:
        if logger is not None:
            self.setup_handlers(logger, logfile, format, colorize, **options)
            if loglevel:
                logger.setLevel(loglevel)

    def setup_task_loggers(
        self,
        loglevel: int | str | None = None,
        logfile: Any = None,
        format: str | None = None,  # noqa: A002
        colorize: bool | None = None,
        propagate: bool = False,
        datefmt: str | None = None,
        formatter: Any = None,
        **options: Any,
    ) -> logging.Logger:
        """Set up the logger of tasks, `celery.task`, and return it."""
        facts = {
            "loglevel": mlevel(loglevel or self.loglevel),
            "logfile": logfile,
            "format": format or self.task_format,
            "colorize": self.supports_color(colorize, logfile),
        }
        logger = get_logger("celery.task")
        options["datefmt"] = self.task_datefmt if datefmt is None else datefmt
        shape = (facts["format"], facts["colorize"], formatter or TaskFormatter)
        self.setup_handlers(logger, logfile, *shape, **options)
        logger.setLevel(facts["loglevel"])
        logger.propagate = propagate
        signals.after_setup_task_logger.send(None, logger=logger, **facts)
        return logger

    def setup_handlers(
        self,
        logger: logging.Logger,
        logfile: Any,
        format: str,  # noqa: A002
        colorize: bool | None,
        formatter: Any = ColorFormatter,
        datefmt: str | None = None,
        **_: Any,
    ) -> logging.Logger:
        """Give a logger a handler, unless it has one; returns the logger."""
        if all(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            handler = _handler(logfile)
            handler.setFormatter(formatter(format, use_color=bool(colorize), datefmt=datefmt))
            logger.addHandler(handler)
        return logger

    def redirect_stdouts(self, loglevel: int | str | None = None, name: str = "celery.redirected") -> None:
        """Log what is written to standard output and standard error from now on."""
        self.redirect_stdouts_to_logger(get_logger(name), loglevel)
        os.environ.update(CELERY_LOG_REDIRECT="1", CELERY_LOG_REDIRECT_LEVEL=str(loglevel or ""))

    def redirect_stdouts_to_logger(
        self,
        logger: logging.Logger,
        loglevel: int | str | None = None,
        stdout: bool = True,
        stderr: bool = True,
    ) -> LoggingProxy:
        """Log what is written to standard output, standard error, or both; returns what takes their place."""
        proxy: Any = LoggingProxy(logger, loglevel)
        if stdout:
            sys.stdout = proxy
        if stderr:
            sys.stderr = proxy
        found: LoggingProxy = proxy
        return found

    def supports_color(self, colorize: bool | None = None, logfile: Any = None) -> bool:
        """Whether lines are coloured: where it is wanted, or nothing is said, on a terminal."""
        colorize = self.colorize if colorize is None else colorize
        if colorize is None or colorize:
            return logfile is None and bool(sys.stderr is not None and sys.stderr.isatty())
        return False

    def colored(self, logfile: Any = None, enabled: bool | None = None) -> colored:
        """Return what colours text where lines are coloured."""
        return colored(enabled=self.supports_color(enabled, logfile))

    def get_default_logger(self, name: str = "celery", **_: Any) -> logging.Logger:
        """Return a logger."""
        return get_logger(name)


def _sent(signal: Signal, facts: dict[str, Any]) -> list[Any]:
    """Send a signal whose receivers must not fail: before logging is set up nobody would hear of it."""
    answers = signal.send(None, **facts)
    for _, answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


def _handler(logfile: Any) -> logging.Handler:
    stream: Any = sys.__stderr__ if logfile is None else logfile
    if hasattr(stream, "write"):
        return logging.StreamHandler(stream)
    return WatchedFileHandler(stream, encoding="utf-8")


def level_number(level: Any) -> int:
    """Return a log level given by name or number; raises ValueError for an unknown name."""
    try:
        return int(mlevel(level))
    except KeyError:
        raise ValueError(f"no log level is named {level!r}") from None


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
