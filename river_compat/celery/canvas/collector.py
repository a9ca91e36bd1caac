"""Keeps Python's garbage collector from walking over the members of a large group while they are made.

All of them live until the group is written, so it finds nothing, and walks over more of them each time: a
quarter of the time that sending takes.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from river_core.forking import in_forked_child

MOST_MEMBERS = 100_000
"""More take seconds, in which other threads may leave what has to be collected."""


class _Pause:
    """Counts the threads that want the collector to rest; it goes on with the last one's end."""

    def __init__(self) -> None:
        self._begin()
        in_forked_child(self._in_child)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._threads = 0
        self._was_enabled = False

    def _in_child(self) -> None:
        """Let it go on in a child: the threads that would do so are not there."""
        if self._threads and self._was_enabled:
            gc.enable()
        self._begin()

    @contextmanager
    def during(self) -> Iterator[None]:
        """Let it rest in a block."""
        with self._lock:
            if not self._threads:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._threads += 1
        try:
            yield
        finally:
            with self._lock:
                self._threads = max(self._threads - 1, 0)
                if not self._threads and self._was_enabled:
                    gc.enable()


_PAUSE = _Pause()


@contextmanager
def resting(members: int) -> Iterator[None]:
    """Let the collector rest in a block that makes so many members, unless they are too many."""
    if members > MOST_MEMBERS:
        yield
        return
    with _PAUSE.during():
        yield
