"""Facts about this platform, and small helpers around the operating system (`celery.platforms`)."""

from __future__ import annotations

import errno
import os
import platform as _platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from river_compat.celery.daemon_context import (
    DAEMON_WORKDIR,
    DaemonContext,
    close_open_fds,
    detached,
    fd_by_path,
    get_fdmax,
)
from river_compat.celery.pidfile import (
    EX_CANTCREAT,
    PIDFILE_FLAGS,
    PIDFILE_MODE,
    PIDLOCKED,
    LockFailed,
    PIDFile,
    Pidfile,
    create_pidlock,
)
from river_compat.celery.platform_signals import (
    SIGMAP,
    SIGNAMES,
    Signals,
    get_signal,
    ignore_signal,
    install_signal_handler,
    reset_signal,
    set_pdeathsig,
    signal_name,
    signals,
)
from river_compat.celery.privileges import (
    initgroups,
    maybe_drop_privileges,
    parse_gid,
    parse_uid,
    setgid,
    setgroups,
    setuid,
)
from river_compat.celery.process_titles import set_mp_process_title, set_process_title
from river_compat.celery.refused_names import refusing

__all__ = [
    "DAEMON_WORKDIR",
    "EX_CANTCREAT",
    "EX_FAILURE",
    "EX_OK",
    "EX_UNAVAILABLE",
    "EX_USAGE",
    "IS_WINDOWS",
    "PIDFILE_FLAGS",
    "PIDFILE_MODE",
    "PIDLOCKED",
    "SIGMAP",
    "SIGNAMES",
    "SYSTEM",
    "DaemonContext",
    "IS_macOS",
    "LockFailed",
    "PIDFile",
    "Pidfile",
    "Signals",
    "close_open_fds",
    "create_pidlock",
    "detached",
    "fd_by_path",
    "get_errno_name",
    "get_fdmax",
    "get_signal",
    "ignore_errno",
    "ignore_signal",
    "initgroups",
    "install_signal_handler",
    "isatty",
    "maybe_drop_privileges",
    "parse_gid",
    "parse_uid",
    "pyimplementation",
    "reset_signal",
    "set_mp_process_title",
    "set_pdeathsig",
    "set_process_title",
    "setgid",
    "setgroups",
    "setuid",
    "signal_name",
    "signals",
    "strargv",
]

EX_OK = getattr(os, "EX_OK", 0)
EX_FAILURE = 1
EX_USAGE = getattr(os, "EX_USAGE", 64)
EX_UNAVAILABLE = getattr(os, "EX_UNAVAILABLE", 69)

SYSTEM = _platform.system()
IS_macOS = SYSTEM == "Darwin"
IS_WINDOWS = SYSTEM == "Windows"


def pyimplementation() -> str:
    """Return the name of this Python: `CPython`, `PyPy`."""
    return _platform.python_implementation()


def isatty(fh: Any) -> bool:
    """Whether a stream is a terminal; a stream that cannot say is none."""
    try:
        return bool(fh.isatty())
    except AttributeError:
        return False


def strargv(argv: list[str]) -> str:
    """Return the arguments of a command line as text."""
    start = 2 if len(argv) > 1 and argv[0] == sys.executable else 1
    return " ".join(argv[start:])


def get_errno_name(n: int | str) -> int:
    """Return the number of an error by name; a number is returned as it is."""
    return int(getattr(errno, n)) if isinstance(n, str) else n


@contextmanager
def ignore_errno(*errnos: int | str, types: Any = OSError) -> Iterator[None]:
    """Swallow errors of the operating system with these numbers while the block runs."""
    numbers = {get_errno_name(number) for number in errnos}
    try:
        yield
    except types as error:
        if getattr(error, "errno", None) not in numbers:
            raise


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
