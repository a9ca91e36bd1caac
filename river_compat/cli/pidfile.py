"""A file that holds the number of a running process, for start scripts that ask for one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from river_compat.cli.exits import Exit


class PidfileTaken(click.ClickException):
    """The process that a pidfile names runs; Celery's programs end with the same code."""

    exit_code = Exit.CANNOT_CREATE


@contextmanager
def pidfile(path: Path | None) -> Iterator[None]:
    """Write this process's number to a file, which goes at the end; None writes none.

    Raises PidfileTaken when the process that the file names runs; a file that was left behind is
    written over.
    """
    if path is None:
        yield
        return
    running = _running(path)
    if running is not None:
        raise PidfileTaken(f"the pidfile {path} names process {running}, which runs; stop it first")
    path.write_text(f"{os.getpid()}\n", "utf-8")
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _running(path: Path) -> int | None:
    try:
        number = int(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return number if number != os.getpid() and _exists(number) else None


def _exists(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
