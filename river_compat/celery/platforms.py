"""Facts about this platform, and small helpers around the operating system (`celery.platforms`)."""

from __future__ import annotations

import errno
import os
import platform as _platform
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from river_compat.celery.privileges import maybe_drop_privileges, parse_gid, parse_uid

__all__ = [
    "EX_CANTCREAT",
    "EX_FAILURE",
    "EX_OK",
    "EX_UNAVAILABLE",
    "EX_USAGE",
    "IS_WINDOWS",
    "SYSTEM",
    "IS_macOS",
    "get_errno_name",
    "ignore_errno",
    "isatty",
    "maybe_drop_privileges",
    "parse_gid",
    "parse_uid",
    "pyimplementation",
    "signal_name",
    "strargv",
]

EX_OK = getattr(os, "EX_OK", 0)
EX_FAILURE = 1
EX_USAGE = getattr(os, "EX_USAGE", 64)
EX_UNAVAILABLE = getattr(os, "EX_UNAVAILABLE", 69)
EX_CANTCREAT = getattr(os, "EX_CANTCREAT", 73)

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


def signal_name(signum: int) -> str:
    """Return the name of a signal without its `SIG`."""
    return signal.Signals(signum).name.removeprefix("SIG")


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
