"""The connection whose open transaction an insert joins.

`join` remembers it for the current thread or coroutine; each driver recognises its own library's
connections. Nothing here commits, rolls back or closes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from river_core.errors import AmbientTransactionError

_joined: ContextVar[Any] = ContextVar("river_core_joined", default=None)


@contextmanager
def join(connection: Any) -> Iterator[None]:
    """Insert on `connection`, inside whatever transaction it has open, until the block ends.

    Takes a psycopg or sqlite3 connection to the database that holds River's schema. The rows become
    visible when the caller commits and vanish when the caller rolls back. Raises AmbientTransactionError
    for None, which would mean no transaction at all.
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
