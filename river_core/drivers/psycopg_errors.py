"""psycopg's errors as ours, and statements as psycopg takes them."""

from __future__ import annotations

from functools import cache
from typing import Any

import psycopg

from river_core.db.statement import as_pyformat
from river_core.errors import DatabaseError, MissingSchemaError, OperationalError, RejectedValueError

MISSING_STATES = frozenset({"42P01", "3F000"})
REJECTED_CLASSES = frozenset({"22", "23", "54"})
REJECTED_NAMES = frozenset({"DataError", "IntegrityError"})
READ_ONLY = "25006"
"""The server takes no writes: a standby, or a primary that has become one. Elsewhere, or later, one does."""
UNREACHABLE_NAMES = frozenset({"OperationalError", "InterfaceError"})


@cache
def query(sql: str) -> bytes:
    """Return a statement's text with psycopg's placeholders."""
    return as_pyformat(sql).encode()


def wrapped(
    error: psycopg.Error | UnicodeError, raw: psycopg.BaseConnection[Any] | None = None
) -> DatabaseError:
    """Return the error of our own tree that stands for one of psycopg's; the caller chains it.

    `raw`, the connection, names the database where River's tables are not in it.
    """
    if isinstance(error, UnicodeError):
        return RejectedValueError(f"a value cannot be sent to Postgres: {error}")
    return from_state(error, error.sqlstate, raw)


def from_state(error: BaseException, state: str | None, raw: Any = None) -> DatabaseError:
    """Return our error for any Postgres library's, by SQLSTATE and the class names that PEP 249 gives."""
    message = _message(error)
    classes = {parent.__name__ for parent in type(error).__mro__}
    if state in MISSING_STATES and "river_" in message:
        return MissingSchemaError(message, state, _place(raw))
    if classes & REJECTED_NAMES or (state or "")[:2] in REJECTED_CLASSES:
        return RejectedValueError(message, state)
    if classes & UNREACHABLE_NAMES or state == READ_ONLY:
        return OperationalError(message, state)
    return DatabaseError(message, state)


def _place(raw: Any) -> str | None:
    """Name the database of a connection; None of a library that does not tell."""
    try:
        return f"the database {raw.info.dbname} on {raw.info.host}, {raw.info.port}"
    except (AttributeError, psycopg.Error):
        return None


def _message(error: BaseException) -> str:
    """Return the server's first line: its DETAIL shows the values of the row, which are nobody's business."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    return primary or str(error).partition("\nDETAIL")[0].strip() or type(error).__name__
