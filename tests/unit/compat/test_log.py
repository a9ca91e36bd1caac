"""`app.log`, its signals, and standard output as a logger."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from river_compat.celery import Celery, signals
from river_compat.celery.app.log import Logging
from river_compat.celery.utils.log import ColorFormatter, LoggingProxy, get_task_logger, in_sighandler
from river_compat.celery.utils.term import colored

NAMES = ("", "celery", "celery.task", "celery.redirected")


@pytest.fixture
def log(app: Celery, monkeypatch: pytest.MonkeyPatch) -> Iterator[Logging]:
    """Logging that is not set up; loggers and standard output are as before afterwards."""
    loggers = [logging.getLogger(name) for name in NAMES]
    before = [(found, found.handlers[:], found.level, found.propagate) for found in loggers]
    monkeypatch.setattr(Logging, "_setup", False)
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    for name in ("LEVEL", "FILE", "REDIRECT", "REDIRECT_LEVEL"):
        monkeypatch.setenv(f"CELERY_LOG_{name}", "")
    yield app.log
    for signal in (signals.setup_logging, signals.after_setup_logger, signals.after_setup_task_logger):
        signal.receivers.clear()
    for found, handlers, level, propagate in before:
        for handler in set(found.handlers) - set(handlers):
            handler.close()
        found.handlers[:], found.propagate = handlers, propagate
        found.setLevel(level)
    logging.captureWarnings(False)


@pytest.fixture
def app() -> Iterator[Celery]:
    """An application."""
    with Celery("logs", set_as_current=False) as app:
        yield app


def test_formats_of_lines(log: Logging, tmp_path: Path) -> None:
    """Those of the settings: one for all, one for tasks. Row 21.3."""
    path = tmp_path / "%n.log"
    log.setup("INFO", path, hostname="me@there")
    logging.getLogger("any").info("plain")
    get_task_logger("tasks").info("of a task")
    plain, task = (tmp_path / "me.log").read_text().splitlines()
    assert plain.endswith("INFO/MainProcess] plain")
    assert task.endswith("INFO/MainProcess] ???[???]: of a task")


def test_root_is_taken_over_unless_told_otherwise(log: Logging) -> None:
    """`worker_hijack_root_logger`. Row 21.3."""
    own, root = logging.NullHandler(), logging.getLogger()
    root.handlers[:] = [handler := logging.StreamHandler(io.StringIO()), own]
    log.app.conf.worker_hijack_root_logger = False
    log.setup("INFO")
    assert root.handlers == [handler, own]
    log.app.conf.worker_hijack_root_logger = True
    log.already_setup = False
    log.setup("INFO")
    assert handler not in root.handlers
    assert len(root.handlers) == 1


def test_receivers_of_setup_logging_do_all_of_it(log: Logging) -> None:
    """Root and standard output stay as they are; nothing is set up twice. Rows 13.14, 21.5."""
    told: list[dict[str, Any]] = []

    def receiver(**kwargs: Any) -> None:
        told.append(kwargs)

    root, stdout = logging.getLogger(), sys.stdout
    before = root.handlers[:]
    signals.setup_logging.connect(receiver)
    assert log.setup("DEBUG", redirect_stdouts=True) == [(receiver, None)]
    assert (root.handlers, sys.stdout) == (before, stdout)
    assert log.setup("DEBUG") is None
    signals.setup_logging.disconnect(receiver)
    [kwargs] = told
    assert {name: kwargs[name] for name in ("sender", "loglevel", "logfile", "format", "colorize")} == {
        "sender": None,
        "loglevel": logging.DEBUG,
        "logfile": None,
        "format": log.app.conf.worker_log_format,
        "colorize": False,
    }


def test_what_is_told_after_the_set_up(log: Logging) -> None:
    """Each logger, so that a receiver may give it more handlers. Row 13.14."""
    told: list[tuple[str, Any]] = []

    def receiver(signal: Any, logger: Any, loglevel: Any, **kwargs: Any) -> None:
        told.append((signal.name, logger.name, loglevel, sorted(kwargs)))

    for signal in (signals.after_setup_logger, signals.after_setup_task_logger):
        signal.connect(receiver)
    log.setup("ERROR")
    others = ["colorize", "format", "logfile", "sender"]
    assert told == [
        ("after_setup_logger", "root", logging.ERROR, others),
        ("after_setup_task_logger", "celery.task", logging.ERROR, others),
    ]


def test_a_failing_receiver_of_setup_logging_is_heard(log: Logging) -> None:
    """Nobody would read its log line."""

    def receiver(**kwargs: Any) -> None:
        raise ZeroDivisionError

    signals.setup_logging.connect(receiver)
    with pytest.raises(ZeroDivisionError):
        log.setup()
    assert not log.already_setup


def test_standard_output_goes_to_the_log(log: Logging, tmp_path: Path) -> None:
    """At WARNING, as `worker_redirect_stdouts_level` says. Row 21.3."""
    path = tmp_path / "log"
    log.setup("WARNING", path, redirect_stdouts=True)
    print("printed\n\n")  # noqa: T201 - it is the point
    print("also", file=sys.stderr)  # noqa: T201
    assert [line.split("] ")[-1] for line in path.read_text().splitlines()] == ["printed", "also"]
    assert path.read_text().count("WARNING/MainProcess") == 2
    assert sys.stdout is not sys.__stdout__


def test_a_logger_that_writes_to_its_own_file_does_not_go_on_for_ever() -> None:
    """Nor does one inside of a signal handler, where a lock may be held, log at all."""
    logger = logging.getLogger("round.and.round")
    proxy = LoggingProxy(logger, "WARNING")
    logger.handlers[:] = [logging.StreamHandler(proxy)]
    logger.propagate = False
    assert proxy.write("100% once\n") == 9
    assert proxy.write(b"bytes") == 5
    with in_sighandler():
        assert proxy.write("out") == 3
    proxy.close()
    assert proxy.write("closed") == 0
    assert not proxy.isatty()


def test_colours() -> None:
    """By the level of the line, and by hand. Row 21.2."""
    record = logging.makeLogRecord({"msg": "x", "levelname": "ERROR", "levelno": logging.ERROR})
    assert ColorFormatter("%(message)s").format(record) == "\033[1;31mx\033[0m"
    assert ColorFormatter("%(message)s", use_color=False).format(record) == "x"
    text = colored().red("a", colored().bold("b"), "c")
    assert str(text) == "\033[1;31ma\033[1mb\033[0m\033[1;31mc\033[0m"
    assert (text.no_color(), len(text), str(colored("a", enabled=False))) == ("abc", 3, "a")
    with pytest.raises(AttributeError, match="mauve"):
        colored().mauve("x")
