"""Tasks that were sent inside a transaction which has not been committed: nobody can run them yet."""

from __future__ import annotations

import sqlite3
from typing import Any

IDLE = 0


def check_visible(task_id: str, connection: Any) -> None:
    """Raise RuntimeError for a task without a committed row that was sent on `connection`.

    Waiting would never end: its transaction is open still, or was rolled back.
    """
    if connection is None:
        return
    if in_transaction(connection):
        raise RuntimeError(
            f"task {task_id} was sent inside a transaction that is not committed yet, so no worker can see "
            "it; commit first, then wait for the result"
        )
    raise RuntimeError(
        f"task {task_id} was sent inside a transaction that was rolled back; it does not exist"
    )


def check_kept(task_id: str, row_id: int | None) -> None:
    """Raise RuntimeError for a task without a row that had one: nobody will ever write its end."""
    if row_id is not None:
        raise RuntimeError(
            f"task {task_id} will never end: its row {row_id} was deleted, by somebody's hand or because its "
            "result was forgotten or is too old"
        )


def in_transaction(connection: Any) -> bool:
    """Whether a connection, session or Django's connection of an alias has a transaction open."""
    if getattr(connection, "closed", False):
        return False
    if hasattr(connection, "in_atomic_block"):
        return bool(connection.in_atomic_block)
    try:
        if hasattr(connection, "in_transaction"):
            told = connection.in_transaction
            return bool(told() if callable(told) else told)
    except sqlite3.ProgrammingError:  # it is closed, which it does not say in another way
        return False
    status = getattr(getattr(connection, "info", None), "transaction_status", IDLE)
    return int(status) != IDLE
