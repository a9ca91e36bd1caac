"""Processes that leave their terminal, and the open files that they leave behind (`celery.platforms`)."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable
from multiprocessing import util
from pathlib import Path
from typing import Any

from river_compat.celery.pidfile import checked_pidlock
from river_compat.celery.privileges import maybe_drop_privileges

DAEMON_WORKDIR = "/"


class DaemonContext:
    """Makes this process a daemon when it is entered: forks twice, and closes what is open.

    `umask` may be text, octal with a 0 at its front. `after_chdir` is called when the directory is `workdir`
    and errors are still seen; `fake` neither forks nor closes anything.
    """

    def __init__(
        self,
        pidfile: str | None = None,
        workdir: str | None = None,
        umask: int | str | None = None,
        fake: bool = False,
        after_chdir: Callable[[], Any] | None = None,
        after_forkers: bool = True,
        **kwargs: Any,
    ) -> None:
        """Do nothing yet. `pidfile` is for the program itself to make, in the daemon."""
        del pidfile, kwargs
        self.workdir = workdir or DAEMON_WORKDIR
        self.umask = _mask(umask) if isinstance(umask, str) else umask
        self.fake = fake
        self.after_chdir = after_chdir
        self.after_forkers = after_forkers
        self.stdfds = (sys.stdin, sys.stdout, sys.stderr)
        self._is_open = False

    def redirect_to_null(self, fd: int | None) -> None:
        """Let a file descriptor lead nowhere."""
        if fd is not None:
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)

    def open(self) -> None:
        """Become a daemon; the original process ends here."""
        if self._is_open:
            return
        if not self.fake:
            _detach()
        os.chdir(self.workdir)
        if self.umask is not None:
            os.umask(self.umask)
        if self.after_chdir is not None:
            self.after_chdir()
        if not self.fake:
            self._leave_files()
        self._is_open = True

    def _leave_files(self) -> None:
        close_open_fds([*self.stdfds, *fd_by_path(["/dev/urandom"])])
        for stream in self.stdfds:
            self.redirect_to_null(_number_of(stream))
        if self.after_forkers:
            util._run_after_forkers()  # type: ignore[attr-defined]  # what multiprocessing itself calls

    def close(self, *_args: object) -> None:
        """Let `open` do it again."""
        self._is_open = False

    def __enter__(self) -> None:
        """Become a daemon."""
        self.open()

    def __exit__(self, *_exc: object) -> None:
        """Change nothing: the process stays a daemon."""
        self.close()


def _mask(text: str) -> int:
    return int(text, 8 if text.startswith("0") else 10)


def _detach() -> None:
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)


def detached(
    logfile: str | None = None,
    pidfile: str | None = None,
    uid: int | str | None = None,
    gid: int | str | None = None,
    umask: int | str = 0,
    workdir: str | None = None,
    fake: bool = False,
    **opts: Any,
) -> DaemonContext:
    """Return a context manager that makes this process a daemon, as another user and group where asked for.

    Before the files are closed it is tried that `logfile` can be written and that no live process holds
    `pidfile`. Raises what `maybe_drop_privileges` raises, at once.
    """
    del opts
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    maybe_drop_privileges(uid=uid, gid=gid)

    def look() -> None:
        if logfile:
            Path(logfile).open("a").close()
        if pidfile:
            checked_pidlock(pidfile).release()

    return DaemonContext(umask=umask, workdir=workdir or os.getcwd(), fake=fake, after_chdir=look)  # noqa: PTH109


def get_fdmax(default: int | None = None) -> int | None:
    """Return how many files this process may open, the default where there is no limit."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return default if limit == resource.RLIM_INFINITY else limit


def _open_fds() -> list[int]:
    return sorted(int(each.name) for each in Path("/dev/fd").iterdir())


def _number_of(file: Any) -> int | None:
    """Return the number of an open file, None of one that has none, such as text in memory."""
    if isinstance(file, int):
        return file
    try:
        return int(file.fileno())
    except (AttributeError, OSError, ValueError):
        return None


def close_open_fds(keep: Iterable[Any] | None = None) -> None:
    """Close every open file but these, given as files or their numbers."""
    kept = {_number_of(each) for each in keep or ()}
    for number in _open_fds():
        if number in kept:
            continue
        try:
            os.close(number)
        except OSError:  # it was the listing's own
            continue


def fd_by_path(paths: Iterable[str]) -> list[int]:
    """Return the numbers of open files that are one of these on the disk."""
    wanted = {found for path in paths if (found := _identity(path)) is not None}
    return [number for number in _open_fds() if _identity(number) in wanted]


def _identity(file: str | int) -> tuple[int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116 - a path has no descriptor
    except OSError:
        return None
    return found.st_ino, found.st_dev
