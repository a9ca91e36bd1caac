"""psycopg's errors as ours, and statements as psycopg takes them."""

from __future__ import annotations

from functools import cache

import psycopg

from river_core.db.statement import as_pyformat
from river_core.errors import DatabaseError, MissingSchemaError, OperationalError, RejectedValueError

MISSING_STATES = frozenset({"42P01", "3F000"})
REJECTED_CLASSES = frozenset({"22", "23", "54"})


@cache
def query(sql: str) -> bytes:
    """Return a statement's text with psycopg's placeholders."""
    return as_pyformat(sql).encode()


def wrapped(error: psycopg.Error | UnicodeError) -> DatabaseError:
    """Return the error of our own tree that stands for one of psycopg's; the caller chains it."""
    if isinstance(error, UnicodeError):
        return RejectedValueError(f"a value cannot be sent to Postgres: {error}")
    message, state = _message(error), error.sqlstate
    if state in MISSING_STATES and "river_" in message:
        return MissingSchemaError(message, state)
    if isinstance(error, psycopg.DataError | psycopg.IntegrityError) or (state or "")[:2] in REJECTED_CLASSES:
        return RejectedValueError(message, state)
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return OperationalError(message, state)
    return DatabaseError(message, state)


def _message(error: psycopg.Error) -> str:
    """Return the server's first line: its DETAIL shows the values of the row, which are nobody's business."""
    return error.diag.message_primary or str(error).strip() or type(error).__name__
