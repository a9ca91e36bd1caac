"""sqlite3's errors as ours."""

from __future__ import annotations

import sqlite3

from river_core.errors import DatabaseError, MissingSchemaError, OperationalError, RejectedValueError

SQLITE_ERRORS = (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError)

UNREACHABLE = (
    "BUSY",
    "LOCKED",
    "CANTOPEN",
    "IOERR",
    "READONLY",
    "FULL",
    "CORRUPT",
    "NOTADB",
    "PERM",
    "INTERRUPT",
)
MISSING_TABLE = "no such table: river_"
REFUSED_JSON = ("malformed JSON", "user-defined function raised exception")


def wrapped(error: Exception, raw: sqlite3.Connection | None = None) -> DatabaseError:
    """Return the error of our own tree that stands for one of sqlite3's; the caller chains it.

    `raw`, the connection, names the file where River's tables are not in it.
    """
    message = str(error) or type(error).__name__
    if isinstance(error, sqlite3.IntegrityError | sqlite3.DataError | OverflowError | UnicodeError):
        return RejectedValueError(message)
    if isinstance(error, sqlite3.OperationalError) and message.startswith(REFUSED_JSON):
        return RejectedValueError(message)
    if message.startswith(MISSING_TABLE):
        return MissingSchemaError(message, place=None if raw is None else _place(raw))
    if _is_unreachable(error, message):
        return OperationalError(message)
    return DatabaseError(message)


def is_locked(error: DatabaseError) -> bool:
    """Tell whether another connection's lock was the reason."""
    name = getattr(error.__cause__, "sqlite_errorname", "")
    return name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _place(raw: sqlite3.Connection) -> str | None:
    try:
        rows = sqlite3.Cursor(raw).execute("PRAGMA database_list").fetchall()
    except SQLITE_ERRORS:
        return None  # the error that is being told counts, not one about its place
    file = next((str(row[2]) for row in rows if row[1] == "main"), "")
    return f"the SQLite file {file}" if file else "a SQLite database in memory"


def _is_unreachable(error: Exception, message: str) -> bool:
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in message:
        return True
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    return name.startswith(UNREACHABLE)
