"""Tells of network connections that a fork would share: both sides would read each other's answers."""

from __future__ import annotations

import logging
import os
import socket
import stat
from pathlib import Path

_FILES = Path("/proc/self/fd")

logger = logging.getLogger(__name__)


def warn_of_open_sockets() -> None:
    """Log which connections this process has open, where the system tells."""
    found = _open_connections()
    if found:
        logger.warning(
            "%d connections were open before child processes were made: %s. A child must not use them; "
            "open connections in the task or when the child starts, not while modules are imported",
            len(found),
            ", ".join(found),
        )


def _open_connections() -> list[str]:
    try:
        numbers = [int(entry.name) for entry in _FILES.iterdir()]
    except OSError:
        return []
    return [peer for number in sorted(numbers) if (peer := _peer(number)) is not None]


def _peer(number: int) -> str | None:
    """Return the other end of a network connection, None for any other open file."""
    try:
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            return None
        with socket.socket(fileno=os.dup(number)) as copy:
            if copy.family not in (socket.AF_INET, socket.AF_INET6) or copy.type != socket.SOCK_STREAM:
                return None
            host, port, *_ = copy.getpeername()
    except OSError:
        return None
    return f"{host}:{port}"
