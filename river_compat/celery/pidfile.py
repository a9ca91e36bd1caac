"""Files that hold the number of a process and keep a second one from starting (`celery.platforms`)."""

from __future__ import annotations

import atexit
import os
from pathlib import Path
from typing import Any

import click

PIDFILE_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY
PIDFILE_MODE = 0o644
EX_CANTCREAT = getattr(os, "EX_CANTCREAT", 73)
PIDLOCKED = """ERROR: Pidfile ({0}) already exists.
Seems we're already running? (pid: {1})"""


class LockFailed(Exception):  # noqa: N818 - the name is Celery's
    """The file cannot be made, as a rule because it is there already."""


class Pidfile:
    """A file with the number of the process that made it; also a context manager. See `create_pidlock`."""

    path: Any = None

    def __init__(self, path: str) -> None:
        """Take the path; nothing is written yet."""
        self.path = os.path.abspath(path)  # noqa: PTH100 - the attribute is text, as in Celery

    def acquire(self) -> Pidfile:
        """Make the file; raises LockFailed where it is there or cannot be written."""
        try:
            self.write_pid()
        except OSError as error:
            raise LockFailed(str(error)) from error
        return self

    def __enter__(self) -> Pidfile:
        """Make the file."""
        return self.acquire()

    def __exit__(self, *_exc: object) -> None:
        """Remove the file."""
        self.release()

    def is_locked(self) -> bool:
        """Whether the file is there."""
        return Path(self.path).exists()

    def release(self, *_args: object) -> None:
        """Remove the file."""
        self.remove()

    def read_pid(self) -> int | None:
        """Return the number in the file, None without a file; raises ValueError for other content."""
        try:
            text = Path(self.path).read_text()
        except FileNotFoundError:
            return None
        line, end, _ = text.partition("\n")
        if not end:
            raise ValueError(f"Partial or invalid pidfile {self.path}")
        try:
            return int(line)
        except ValueError:
            raise ValueError(f"pidfile {self.path} contents invalid.") from None

    def remove(self) -> None:
        """Remove the file, if it is there and may be removed."""
        try:
            Path(self.path).unlink()
        except (FileNotFoundError, PermissionError):
            return

    def remove_if_stale(self) -> bool:
        """Remove the file unless another live process of ours made it; return whether it was removed."""
        try:
            pid = self.read_pid()
        except ValueError:
            click.echo("Broken pidfile found - Removing it.", err=True)
            self.remove()
            return True
        if pid and pid != os.getpid():
            if _may_signal(pid):
                return False
            click.echo("Stale pidfile exists - Removing it.", err=True)
        self.remove()
        return True

    def write_pid(self) -> None:
        """Make the file with the number of this process; raises OSError where it is there."""
        with os.fdopen(os.open(self.path, PIDFILE_FLAGS, PIDFILE_MODE), "w") as file:
            file.write(f"{os.getpid()}\n")
            file.flush()
            os.fsync(file.fileno())
        if self.read_pid() != os.getpid():
            raise LockFailed("Inconsistency: Pidfile content doesn't match at re-read")


PIDFile = Pidfile


def _may_signal(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def create_pidlock(pidfile: str) -> Pidfile:
    """Make the file, which is removed when the program ends; one of a process that is no more gives way.

    Says so and raises SystemExit where that process is alive; raises LockFailed.
    """
    lock = checked_pidlock(pidfile)
    atexit.register(lock.release)
    return lock


def checked_pidlock(pidfile: str) -> Pidfile:
    """As `create_pidlock`, without removing it at the end."""
    lock = Pidfile(pidfile)
    if lock.is_locked() and not lock.remove_if_stale():
        click.echo(PIDLOCKED.format(pidfile, lock.read_pid()), err=True)
        raise SystemExit(EX_CANTCREAT)
    return lock.acquire()
