"""The options of a long-running command that say what it logs, and where."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from river_compat.celery.beat_remote import beat_nodename
from river_compat.cli import logs
from river_compat.cli.worker import LEVELS, configure_logging

Command = Callable[..., Any]


def log_options(command: Command) -> Command:
    """Add Celery's options; the command gets `configure_logging`, a function of the application."""

    @wraps(command)
    def run(*args: Any, loglevel: str, logfile: Path | None, log_format: str, **options: Any) -> Any:
        configure = partial(
            configure_logging,
            hostname=beat_nodename(),
            level_name=loglevel,
            logfile=logfile,
            log_format=log_format,
        )
        return command(*args, configure_logging=configure, **options)

    level = click.option(
        "-l",
        "--loglevel",
        type=click.Choice(LEVELS, case_sensitive=False),
        default="WARNING",
        metavar="LEVEL",
        help="DEBUG, INFO, WARNING [default], ERROR or CRITICAL.",
    )
    file = click.option(
        "-f",
        "--logfile",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Where the log goes [default: standard error].",
    )
    layout = click.option(
        "--log-format",
        type=click.Choice(logs.FORMATS),
        default="text",
        help="How log lines look [default: text].",
    )
    return level(file(layout(run)))
