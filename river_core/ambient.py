"""The connection whose open transaction an insert joins.

`join` remembers it for the current thread or coroutine; a watched library puts what has a transaction
open here by itself. Each driver recognises its own library's connections. Nothing here commits, rolls
back or closes.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from river_core.errors import AmbientTransactionError

_joined: ContextVar[Any] = ContextVar("river_core_joined", default=None)
_watched: ContextVar[tuple[Watched, ...]] = ContextVar("river_core_watched", default=())


@contextmanager
def join(connection: Any) -> Iterator[None]:
    """Insert on `connection`, inside whatever transaction it has open, until the block ends.

    Takes a connection to the database that holds River's schema: psycopg's, sqlite3's, Django's, or
    SQLAlchemy's Session or Connection. The rows become visible when the caller commits and vanish when
    the caller rolls back. Raises AmbientTransactionError for None, which would mean no transaction at all.
    """
    if connection is None:
        raise AmbientTransactionError("join takes the connection whose transaction is meant, not None")
    token = _joined.set(connection)
    try:
        yield
    finally:
        _joined.reset(token)


def joined() -> Any:
    """Return the connection of the innermost `join` around this call, or None."""
    return _joined.get()


class Watched:
    """An owner of an open transaction, known in the thread and asyncio task that began it and no other."""

    __slots__ = ("_owner", "_task", "_thread", "is_open")

    def __init__(self, owner: Any) -> None:
        """Remember `owner` weakly, for the current thread and task."""
        task = _current_task()
        self._owner = weakref.ref(owner)
        self._thread = threading.get_ident()
        self._task = None if task is None else weakref.ref(task)
        self.is_open = True

    def owner_here(self) -> Any:
        """Return the owner if its transaction is open and was begun by this very thread and task."""
        if not self.is_open or self._thread != threading.get_ident():
            return None
        begun_in = None if self._task is None else self._task()
        if begun_in is not _current_task() or (begun_in is None and self._task is not None):
            return None
        return self._owner()


def watch(owner: Any) -> Watched:
    """Let inserts of this thread and task join the transaction that `owner` has begun.

    The transaction's end sets `is_open` of what is returned to False. Child tasks and threads copy the
    context and still do not join.
    """
    entry = Watched(owner)
    _watched.set((*(item for item in _watched.get() if item.owner_here() is not None), entry))
    return entry


def watched() -> list[Any]:
    """Return the owners of open transactions that are watched here, the newest first."""
    entries = _watched.get()
    if not entries:  # as nearly always, and asked at every insert
        return []
    owners = (item.owner_here() for item in reversed(entries))
    return [owner for owner in owners if owner is not None]


def open_transaction() -> Any:
    """Return what `join` was given, else the newest watched owner of an open transaction, else None."""
    explicit = _joined.get()
    return explicit if explicit is not None else next(iter(watched()), None)


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
