"""Waits for open files that can be read; unlike `select` it takes numbers above 1,023."""

from __future__ import annotations

import select
from collections.abc import Iterable


def wait_readable(files: Iterable[int], seconds: float | None = None) -> set[int]:
    """Wait up to `seconds` and return which files have something to read, or their end."""
    poll = select.poll()
    for number in files:
        poll.register(number, select.POLLIN)
    milliseconds = None if seconds is None else max(seconds, 0.0) * 1000
    return {number for number, _ in poll.poll(milliseconds)}
