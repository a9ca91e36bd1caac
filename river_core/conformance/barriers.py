"""Named barriers that jobs and claims wait at until the suite releases them."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Barriers:
    """Barriers by name; one exists from its first use, on either side. Callable from any thread."""

    def __init__(self) -> None:
        """Start without barriers."""
        self._lock = threading.Lock()
        self._barriers: dict[str, threading.Event] = {}

    def release(self, name: str) -> None:
        """Let everyone pass who waits there or ever will."""
        self._barrier(name).set()

    def wait(self, name: str, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds; return whether the barrier is released."""
        return self._barrier(name).wait(timeout)

    def hold_first(self, name: str) -> Callable[[object], None]:
        """Return what holds the caller of its first call, and lets all later ones pass."""
        held = threading.Event()

        def hold(_: object) -> None:
            with self._lock:
                first = not held.is_set()
                held.set()
            if first:
                self.wait(name)

        return hold

    def _barrier(self, name: str) -> threading.Event:
        with self._lock:
            return self._barriers.setdefault(name, threading.Event())
