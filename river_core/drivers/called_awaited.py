"""Blocking code that is called from a coroutine and belongs to the transaction that is open there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from river_core.drivers.borrowed import library_of

T = TypeVar("T")


async def call_in_transaction(owner: Any, call: Callable[[], T]) -> T:
    """Call so that inserts inside take part in the transaction that `owner` has open.

    With an async session or connection of SQLAlchemy, statements inside are awaited, as in its `run_sync`.
    Others block in this thread, as they do for their owner: no other thread may use them.
    """
    if library_of(owner, "sqlalchemy") is not None:
        from river_core.drivers.sqlalchemy_awaited import awaited_owner  # only the library in use is imported

        target = awaited_owner(owner)
        if target is not None:
            called: T = await target.run_sync(lambda _: call())
            return called
    return call()
