"""Per-thread values and stacks (`celery.utils.threads`)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from river_compat.celery.refused_names import lacking, refusing

__all__ = [
    "Local",
    "LocalManager",
    "LocalStack",
    "bgThread",
    "default_socket_timeout",
    "get_ident",
    "release_local",
]

T = TypeVar("T")
get_ident = threading.get_ident


class Local(threading.local):
    """Attributes of which every thread has its own."""

    def __release_local__(self) -> None:
        """Forget this thread's."""
        self.__dict__.clear()


class LocalStack(threading.local, Generic[T]):
    """A stack of which every thread has its own."""

    def __init__(self) -> None:
        """Start empty."""
        self.stack: list[T] = []

    def push(self, obj: T) -> list[T]:
        """Put on top."""
        self.stack.append(obj)
        return self.stack

    def pop(self) -> T | None:
        """Take off the top; None when empty."""
        return self.stack.pop() if self.stack else None

    @property
    def top(self) -> T | None:
        """What is on top; None when empty."""
        return self.stack[-1] if self.stack else None

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.stack)

    def __bool__(self) -> bool:
        """A stack is one, even empty."""
        return True

    def __release_local__(self) -> None:
        """Empty this thread's."""
        self.stack.clear()


_LocalStack = _FastLocalStack = LocalStack


def release_local(local: Any) -> None:
    """Forget what a `Local` or `LocalStack` has for this thread."""
    local.__release_local__()


class LocalManager:
    """Several locals that are forgotten together."""

    def __init__(self, locals: Any = None, ident_func: Any = None) -> None:  # noqa: A002 - Celery's name
        """Take one local, several, or none."""
        given: Any = () if locals is None else locals
        self.locals = [given] if hasattr(given, "__release_local__") else list(given)
        self.ident_func = ident_func or get_ident

    def get_ident(self) -> Any:
        """Return what tells threads apart."""
        return self.ident_func()

    def cleanup(self) -> None:
        """Forget what this thread has."""
        for local in self.locals:
            release_local(local)


@contextmanager
def default_socket_timeout(timeout: float | None) -> Iterator[None]:
    """Set the timeout of new sockets while the block runs."""
    import socket

    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(timeout)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


@lacking("threading.excepthook hears what body() raises", "on_crash")
class bgThread(threading.Thread):  # noqa: N801 - the name is Celery's
    """A thread that calls `body()` until it is told to stop."""

    def __init__(self, name: str | None = None, **kwargs: Any) -> None:
        """Make a daemon thread; nothing runs yet."""
        super().__init__(name=name or type(self).__name__, daemon=True, **kwargs)
        self._wanted = threading.Event()
        self._ended = threading.Event()

    def body(self) -> None:
        """Do one round; every subclass defines it. The base raises NotImplementedError, as Celery's does."""
        raise NotImplementedError(f"{type(self).__name__} must define body()")

    def run(self) -> None:
        """Call `body` until `stop`."""
        try:
            while not self._wanted.is_set():
                self.body()
        finally:
            self._ended.set()

    def stop(self) -> None:
        """End after the current round, and wait for it."""
        self._wanted.set()
        if self.is_alive():
            self._ended.wait()
            self.join()


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
