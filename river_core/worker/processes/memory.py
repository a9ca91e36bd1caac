"""How much memory this process holds."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

_STATM = Path("/proc/self/statm")
GROWTH = 0.1
"""A child that began beyond its limit must have grown by this part of it: what it began with is shared."""


def resident_kib() -> int:
    """Return the resident memory in KiB: as it is now, or where that cannot be read the most it was."""
    try:
        pages = int(_STATM.read_text().split()[1])
    except (OSError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak // 1024 if sys.platform == "darwin" else peak
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


class MemoryBound:
    """Whether a process has outgrown its limit."""

    def __init__(self, limit: int | None) -> None:
        """Note what the process holds now; `limit` is KiB, None for none."""
        self._limit = limit
        self._began = resident_kib() if limit is not None else 0

    def exceeded(self) -> bool:
        """Tell whether more than the limit is held, and that not only because the worker holds as much."""
        if self._limit is None:
            return False
        now = resident_kib()
        return now > self._limit and now - self._began >= self._limit * GROWTH
