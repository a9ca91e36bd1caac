"""A small pool of connections without threads of its own.

Callers connect in their own thread, so that a dead database is reported at once and with its own
reason, and so that a process that only enqueues may fork at any time: after a fork the child starts
with an empty pool, and what the parent had open is neither used nor closed there.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Generic, TypeVar

from river_core.errors import OperationalError

C = TypeVar("C")


@dataclass(slots=True)
class _Generation(Generic[C]):
    """The connections of one process between two calls of `close`."""

    pid: int
    free: SimpleQueue[None]
    """As many as may be lent yet; a semaphore of Python's takes ten times the time."""
    idle: list[tuple[C, float]] = field(default_factory=list)


class _Loan(AbstractContextManager[C]):
    """One connection on loan; a class, since every insert makes one and a generator takes thrice the time."""

    __slots__ = ("_connection", "_generation", "_pool")

    def __init__(self, pool: Pool[C]) -> None:
        self._pool = pool

    def __enter__(self) -> C:
        self._generation = self._pool.reserve()
        try:
            self._connection = self._pool.take(self._generation)
        except BaseException:
            self._generation.free.put(None)
            raise
        return self._connection

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is not None:
                self._pool.notice(error)
            self._pool.give_back(self._generation, self._connection)
        finally:
            self._generation.free.put(None)


class Pool(Generic[C]):
    """Lends connections, newest first; opens at most `max_size` at a time."""

    def __init__(
        self,
        open_connection: Callable[[], C],
        close_connection: Callable[[C], None],
        usable: Callable[[C, float | None], bool],
        max_size: int,
        timeout: float,
        is_stale: Callable[[BaseException], bool] = lambda _: False,
    ) -> None:
        """Open nothing yet.

        `usable` is asked before each loan, with the seconds for which the connection was idle, and after it,
        with None. A borrower waits up to `timeout` seconds for one of the others to give back. An error of a
        borrower for which `is_stale` says so makes the pool open all connections anew.
        """
        self._is_stale = is_stale
        self._open = open_connection
        self._close = close_connection
        self._usable = usable
        self._max_size = max_size
        self._timeout = timeout
        self._lock = threading.Lock()
        self._abandoned: list[_Generation[C]] = []
        self._generation = self._new_generation()

    def borrow(self) -> AbstractContextManager[C]:
        """Lend a connection for a `with` block; OperationalError there when none is or becomes free."""
        return _Loan(self)

    def close(self) -> None:
        """Close what is idle now, and what is lent out when it comes back; harmless twice."""
        generation = self._current()
        with self._lock:
            self._generation = self._new_generation()
            idle, generation.idle = generation.idle, []
        for connection, _ in idle:
            self._close(connection)

    @property
    def is_used(self) -> bool:
        """Whether connections are kept open for the next borrower."""
        return bool(self._current().idle)

    def _new_generation(self) -> _Generation[C]:
        free: SimpleQueue[None] = SimpleQueue()
        for _ in range(self._max_size):
            free.put(None)
        return _Generation(os.getpid(), free)

    def _current(self) -> _Generation[C]:
        generation = self._generation
        if generation.pid == os.getpid():
            return generation
        self._lock = threading.Lock()  # a thread that does not exist here may have held the parent's
        self._abandoned.append(generation)
        self._generation = self._new_generation()
        return self._generation

    def reserve(self) -> _Generation[C]:
        """Wait until one more connection may be used; raises OperationalError."""
        generation = self._current()
        try:
            generation.free.get(timeout=self._timeout)
        except Empty:
            raise OperationalError(
                f"no connection became free within {self._timeout:g} s: all {self._max_size} are in use"
            ) from None
        return generation

    def take(self, generation: _Generation[C]) -> C:
        """Return an idle connection that is still usable, or a new one."""
        while True:
            try:
                connection, since = generation.idle.pop()
            except IndexError:
                return self._open()
            if self._usable(connection, time.monotonic() - since):
                return connection
            self._close(connection)

    def notice(self, error: BaseException) -> None:
        """See what a borrower raised."""
        if self._is_stale(error):
            self.close()

    def give_back(self, generation: _Generation[C], connection: C) -> None:
        """Keep a connection for the next borrower if it is usable, else close it."""
        if generation.pid != os.getpid():
            self._abandoned.append(generation)
            return
        if self._usable(connection, None):
            with self._lock:
                if generation is self._generation:
                    generation.idle.append((connection, time.monotonic()))
                    return
        self._close(connection)
