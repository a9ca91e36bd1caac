"""The caller's psycopg connection, borrowed for statements inside its own transaction.

Nothing here commits, rolls back, opens a savepoint, prepares a statement or changes a setting.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo, TransactionStatus
from psycopg.rows import tuple_row
from psycopg.types.datetime import TimestamptzLoader

from river_core.db.statement import Statement
from river_core.drivers.base import Row
from river_core.drivers.copying import copy_in
from river_core.drivers.psycopg_errors import query, wrapped
from river_core.errors import AmbientTransactionError


class UtcLoader(TimestamptzLoader):
    """Reads times in UTC whatever zone the caller's session is in."""

    def load(self, data: Any) -> datetime:
        """Return an aware time in UTC."""
        return super().load(data).astimezone(UTC)


class AdoptedConnection:
    """A connection that belongs to the caller."""

    copies = True

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        """Wrap a connection that `check_usable` has passed."""
        self.raw = raw

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, or the next statement will open one."""
        return not self.raw.autocommit or self.raw.pgconn.transaction_status != TransactionStatus.IDLE

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement, unprepared, with a cursor of our own, and return its rows."""
        try:
            with psycopg.Cursor(self.raw, row_factory=tuple_row) as cursor:
                if statement.data is not None:
                    copy_in(cursor, statement.sql, statement.data)
                    return []
                cursor.adapters.register_loader("timestamptz", UtcLoader)
                cursor.execute(query(statement.sql), statement.parameters, prepare=False, binary=False)
                return list(cursor.fetchall()) if cursor.description else []
        except (psycopg.Error, UnicodeError) as error:
            raise wrapped(error, self.raw) from error

    def run_script(self, sql: str) -> None:
        """Run several statements that take no parameters, inside the caller's transaction."""
        try:
            with psycopg.Cursor(self.raw) as cursor:
                cursor.execute(sql.encode())
        except psycopg.Error as error:
            raise wrapped(error, self.raw) from error

    def transaction(self) -> AbstractContextManager[None]:
        """Do nothing: the caller's transaction decides."""
        return nullcontext()


def check_usable(raw: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """Raise AmbientTransactionError for a connection that is closed or whose transaction has failed."""
    if raw.closed:
        raise AmbientTransactionError("the joined connection is closed; join one that is open")
    if raw.pgconn.transaction_status == TransactionStatus.INERROR:
        raise AmbientTransactionError(
            "the joined connection's transaction has failed, so nothing can be inserted in it; roll it back "
            "first, or insert with enqueue='own'"
        )
    _check_session(raw)


def _check_session(raw: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """Refuse what would keep us from reading the row that we insert, before it is inserted."""
    style = raw.info.parameter_status("DateStyle") or "ISO"
    if not style.startswith("ISO"):
        raise AmbientTransactionError(
            f"the joined connection has DateStyle {style!r}; psycopg reads only ISO"
        )
    if raw.info.parameter_status("client_encoding") == "SQL_ASCII":
        raise AmbientTransactionError("the joined connection has client_encoding SQL_ASCII; set it to UTF8")
    if raw.pgconn.pipeline_status:
        raise AmbientTransactionError("the joined connection is in pipeline mode; leave the pipeline first")


def is_same_address(conninfo: str, raw: Any) -> bool:
    """Tell whether a connection, psycopg's or psycopg2's, was made to the very address of `conninfo`.

    Of another library's connection it is not known.
    """
    own = {**_libpq_defaults(), **conninfo_to_dict(conninfo)}
    theirs = parameters_of(raw)
    return bool(theirs) and all(str(own.get(name)) == str(theirs[name]) for name in theirs)


def parameters_of(raw: Any) -> dict[str, Any]:
    """Return host, port and dbname of a connection; nothing for a library that does not tell them."""
    info = getattr(raw, "info", None)
    return {name: getattr(info, name) for name in ("host", "port", "dbname") if hasattr(info, name)}


def _libpq_defaults() -> dict[str, str]:
    return {
        option.keyword.decode(): option.val.decode()
        for option in Conninfo.get_defaults()
        if option.val is not None
    }
