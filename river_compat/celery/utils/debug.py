"""The memory of this process, now and before, and where its threads are (`celery.utils.debug`)."""

from __future__ import annotations

import os
import resource
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from river_compat.celery.refused_names import refusing

__all__ = ["cry", "humanbytes", "mem_rss", "memdump", "sample", "sample_mem"]

UNITS = ((2**40, "TB"), (2**30, "GB"), (2**20, "MB"), (2**10, "KB"))
_samples: list[str] = []


def sample_mem() -> str:
    """Remember how much memory the process has now, and return it as text."""
    current = mem_rss()
    _samples.append(current)
    return current


def memdump(samples: int = 10, file: TextIO | None = None) -> None:
    """Print what was remembered, thinned out to `samples` lines, and what is there now; then forget it."""
    before, after = list(_samples), mem_rss()
    _samples.clear()
    if before:
        print("- rss (sample):", file=file)
        for each in sample(before, samples):
            print(f"-    > {each},", file=file)
    print(f"- rss (end): {after}.", file=file)


def sample(x: Sequence[Any], n: int, k: int = 0) -> Iterator[Any]:
    """Return about `n` of the x at equal distances, from the one at `k` on."""
    step = len(x) // n or 1
    position = k
    for _ in range(n):
        if position >= len(x):
            return
        yield x[position]
        position += step


def humanbytes(s: float) -> str:
    """Return a number of bytes with its unit: `3.5MB`."""
    size, unit = next(((size, unit) for size, unit in UNITS if s >= size), (1, "B"))
    return f"{s / size:.4g}{unit}"


def mem_rss() -> str:
    """Return the memory of this process as text."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return humanbytes(pages * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, IndexError, ValueError):
        unit = 1 if sys.platform == "darwin" else 1024
        return humanbytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def cry(out: TextIO | None = None, sepchr: str = "=", seplen: int = 49) -> str | None:
    """Return the stacks of all threads as text, with a line below each name; with `out` write it there."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    parts = []
    for ident, frame in sys._current_frames().items():
        name = names.get(ident, "unknown")
        parts.append(f"{name}\n{sepchr * seplen}\n{''.join(traceback.format_stack(frame))}")
    text = "\n".join(parts)
    if out is None:
        return text
    print(text, file=out)
    return None


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
