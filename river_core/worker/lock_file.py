"""A file beside a SQLite database that its client keeps locked while it lives.

The kernel frees the lock when the process ends, however it ends. The name is
`<database>-<client id>.lock`; a file is only ever deleted by whoever has it locked, so a lock is never
held on a file that others cannot find for longer than one look at it.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from urllib.parse import quote

from river_core.db.liveness import session_database_list
from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.errors import OperationalError
from river_core.forking import in_forked_child

SUFFIX = ".lock"
MAX_NAME_CHARACTERS = 120
TRIES = 10
LOOK_SECONDS = 0.01


def database_file(driver: Driver) -> str:
    """Return the path of a driver's SQLite file; empty on Postgres and for a database in memory."""
    if driver.sql.dialect is Dialect.POSTGRES:
        return ""
    with driver.connect() as connection:
        files = connection.fetch(session_database_list(driver.sql))
    path = next((str(row[2]) for row in files if row[1] == "main"), "")
    return path if Path(path).is_file() else ""


def lock_path(database: str, client_id: str) -> Path:
    """Return where the lock file of a client of `database` lies."""
    name = quote(client_id, safe="")[-MAX_NAME_CHARACTERS:]
    return Path(f"{os.path.realpath(database)}-{name}{SUFFIX}")


class LockFile:
    """This process's lock on one file. A child made by fork does not keep it."""

    def __init__(self, path: Path) -> None:
        """Lock nothing yet."""
        self.path = path
        self._descriptor: int | None = None
        self._owner = os.getpid()
        in_forked_child(self._forget)

    def hold(self) -> None:
        """Make sure that the file exists and is locked; raises OperationalError when it cannot be."""
        if self._descriptor is not None and _is_at(self.path, self._descriptor):
            return
        self._close()
        try:
            self._descriptor = _lock(self.path)
        except OSError as error:
            raise OperationalError(f"the lock file {self.path} cannot be locked: {error}") from error

    def release(self) -> None:
        """Delete the file and free the lock; harmless twice."""
        if self._descriptor is not None and _is_at(self.path, self._descriptor):
            self.path.unlink(missing_ok=True)
        self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _forget(self) -> None:
        """Let go in a forked child, which would keep its parent's lock alive otherwise."""
        if self._owner != os.getpid():
            self._close()


def is_held(path: Path) -> bool:
    """Tell whether somebody holds the lock. A file that cannot be looked at counts as held."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)


def delete_if_free(path: Path) -> bool:
    """Delete the file of a client that is gone; return whether it was deleted."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(path, descriptor):
            return False
        path.unlink(missing_ok=True)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def delete_all_free(database: str, marker: str) -> int:
    """Delete what clients with `marker` that are gone left beside `database`; return how many files."""
    real = Path(os.path.realpath(database))
    files = [path for path in real.parent.iterdir() if path.name.startswith(f"{real.name}-")]
    return sum(delete_if_free(path) for path in files if path.name.endswith(f"{marker}{SUFFIX}"))


def _lock(path: Path) -> int:
    """Open and lock the file; again while an observer looks at it or deletes one that it found free."""
    for _ in range(TRIES):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, descriptor):
                return descriptor
        except BlockingIOError:
            time.sleep(LOOK_SECONDS)
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise OSError("another process keeps it locked")


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False
