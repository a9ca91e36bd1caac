"""The exit codes of every command, and how an error becomes one of them and one readable line."""

from __future__ import annotations

import logging
from enum import IntEnum

import click

from river_core.errors import ConfigurationError, NotFoundError, ValidationError

logger = logging.getLogger(__name__)


class Exit(IntEnum):
    """What the shell sees."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    CHECK_FAILED = 4
    UNAVAILABLE = 69
    CANNOT_CREATE = 73


def exit_code(error: BaseException) -> Exit:
    """Return the code that an error of this package stands for; FAILED for any other."""
    if isinstance(error, NotFoundError):
        return Exit.NOT_FOUND
    if isinstance(error, ValidationError | ConfigurationError):
        return Exit.USAGE
    return Exit.FAILED


def report(error: Exception) -> Exit:
    """Write one line to standard error and return the exit code; `-v` logs the traceback as well."""
    logger.debug("the command failed", exc_info=error)
    line = " ".join(str(error).split())
    click.echo(f"river-compat: {line}", err=True)
    return exit_code(error)
