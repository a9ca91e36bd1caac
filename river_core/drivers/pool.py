"""A small pool of connections without threads of its own.

Callers connect in their own thread, so that a dead database is reported at once and with its own
reason, and so that a process that only enqueues may fork at any time: after a fork the child starts
with an empty pool, and what the parent had open is neither used nor closed there.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from river_core.errors import OperationalError

C = TypeVar("C")


@dataclass(slots=True)
class _Generation(Generic[C]):
    """The connections of one process between two calls of `close`."""

    pid: int
    free: threading.BoundedSemaphore
    idle: list[tuple[C, float]] = field(default_factory=list)


class Pool(Generic[C]):
    """Lends connections, newest first; opens at most `max_size` at a time."""

    def __init__(
        self,
        open_connection: Callable[[], C],
        close_connection: Callable[[C], None],
        usable: Callable[[C, float], bool],
        max_size: int,
        timeout: float,
    ) -> None:
        """Open nothing yet.

        `usable` is asked before and after each loan, with the seconds for which the connection was
        idle; a borrower waits up to `timeout` seconds for one of the others to give back.
        """
        self._open = open_connection
        self._close = close_connection
        self._usable = usable
        self._max_size = max_size
        self._timeout = timeout
        self._lock = threading.Lock()
        self._abandoned: list[_Generation[C]] = []
        self._generation = self._new_generation()

    @contextmanager
    def borrow(self) -> Iterator[C]:
        """Lend a connection for the block; raises OperationalError when none is or becomes free."""
        generation = self._current()
        if not generation.free.acquire(timeout=self._timeout):
            raise OperationalError(
                f"no connection became free within {self._timeout:g} s: all {self._max_size} are in use"
            )
        try:
            connection = self._take(generation)
            if connection is None:
                connection = self._open()
            try:
                yield connection
            finally:
                self._give_back(generation, connection)
        finally:
            generation.free.release()

    def close(self) -> None:
        """Close what is idle now, and what is lent out when it comes back; harmless twice."""
        generation = self._current()
        with self._lock:
            self._generation = self._new_generation()
            idle, generation.idle = generation.idle, []
        for connection, _ in idle:
            self._close(connection)

    def _new_generation(self) -> _Generation[C]:
        return _Generation(os.getpid(), threading.BoundedSemaphore(self._max_size))

    def _current(self) -> _Generation[C]:
        generation = self._generation
        if generation.pid == os.getpid():
            return generation
        self._lock = threading.Lock()  # a thread that does not exist here may have held the parent's
        self._abandoned.append(generation)
        self._generation = self._new_generation()
        return self._generation

    def _take(self, generation: _Generation[C]) -> C | None:
        while True:
            try:
                connection, since = generation.idle.pop()
            except IndexError:
                return None
            if self._usable(connection, time.monotonic() - since):
                return connection
            self._close(connection)

    def _give_back(self, generation: _Generation[C], connection: C) -> None:
        if generation.pid != os.getpid():
            self._abandoned.append(generation)
            return
        if self._usable(connection, 0.0):
            with self._lock:
                if generation is self._generation:
                    generation.idle.append((connection, time.monotonic()))
                    return
        self._close(connection)
