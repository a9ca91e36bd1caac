"""COPY through the libraries that have it: psycopg and psycopg2, also below SQLAlchemy and Django."""

from __future__ import annotations

import io
from typing import Any


def can_copy(library_connection: Any) -> bool:
    """Tell whether a connection of a database's own library reads COPY data without being awaited."""
    return any(
        (parent.__module__.partition(".")[0], parent.__name__)
        in {("psycopg", "Connection"), ("psycopg2", "connection")}
        for parent in type(library_connection).__mro__
    )


def copy_in(cursor: Any, sql: str, data: str) -> None:
    """Send the lines that a COPY statement reads, on a cursor of psycopg or psycopg2."""
    if hasattr(cursor, "copy_expert"):
        cursor.copy_expert(sql, io.StringIO(data))
        return
    with cursor.copy(sql.encode()) as copy:
        copy.write(data)
