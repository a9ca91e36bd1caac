"""Connections that SQLAlchemy and Django manage, borrowed for statements inside their transactions.

The two libraries are optional: each is imported in its own files, and only for an object of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from river_core import ambient
from river_core.drivers.base import AwaitedConnection, Connection, Row, type_name
from river_core.errors import (
    AmbientTransactionError,
    DatabaseError,
    OtherDatabaseError,
    RejectedValueError,
)

POSTGRES = "postgresql"
SQLITE = "sqlite"
FAILED = 3
"""What `info.transaction_status` says of a failed transaction in psycopg and psycopg2 (PQTRANS_INERROR)."""


class Borrowed(Connection, Protocol):
    """A connection that another library manages."""

    @property
    def vendor(self) -> str:
        """The kind of database, `postgresql` or `sqlite` where River can live in it."""
        ...

    @property
    def raw(self) -> Any:
        """The object of the managing library, as a driver's `adopt` takes it."""
        ...

    @property
    def library_connection(self) -> Any:
        """The connection of the database's own library (psycopg, psycopg2, sqlite3, …) below it."""
        ...

    @property
    def in_transaction(self) -> bool:
        """Whether the next statement belongs to a transaction, open or begun by that statement."""
        ...


class Owner(Protocol):
    """What has a transaction open and calls back around its commit."""

    def before_commit(self, callback: Callable[[], object]) -> None:
        """Call back inside the transaction just before it commits, never if it rolls back."""
        ...

    def after_commit(self, callback: Callable[[], object]) -> None:
        """Call back once the transaction is committed, never if it rolls back."""
        ...


def borrow(raw: Any, vendor: str, own_type: str) -> Borrowed:
    """Return a connection of another library to a database of kind `vendor`.

    Raises AmbientTransactionError for an object that no driver joins or a failed transaction,
    AwaitedTransactionError for an async session outside `run_sync`, OtherDatabaseError for another kind.
    """
    borrowed = recognised(raw)
    if borrowed is None:
        name = "Postgres" if vendor == POSTGRES else "SQLite"
        raise AmbientTransactionError(
            f"a driver for {name} joins a {own_type}, or a connection of SQLAlchemy or Django, not "
            f"{type_name(raw)}"
        )
    if borrowed.vendor != vendor:
        raise OtherDatabaseError(
            f"the joined transaction is on {borrowed.vendor}, but River lives on {vendor}; insert with "
            "enqueue='after_commit' to do it after that commit, or with enqueue='own' to do it now"
        )
    if getattr(getattr(borrowed.library_connection, "info", None), "transaction_status", None) == FAILED:
        raise AmbientTransactionError(
            "the joined connection's transaction has failed, so nothing can be inserted in it; roll it back "
            "first, or insert with enqueue='own'"
        )
    return borrowed


def owner_of(raw: Any) -> Owner:
    """Return what calls back around the commit of `raw`; AmbientTransactionError where nothing does."""
    root = library_of(raw)
    if root == "sqlalchemy":
        from river_core.drivers.sqlalchemy import owner  # only the library in use is imported

        return owner(raw)
    if root == "django":
        from river_core.drivers.django_adopted import DjangoOwner  # only the library in use is imported

        return DjangoOwner(raw.alias)
    raise AmbientTransactionError(
        f"{type_name(raw)} does not tell when its transaction commits, so enqueue='after_commit' cannot be "
        "used with it; insert in the transaction with enqueue='ambient', or yourself after the commit"
    )


C = TypeVar("C", bound=Connection)


def ambient_connection(adopt: Callable[[Any], C]) -> C | None:
    """Return what a driver adopts of what is joined, or watched, around the call; None for nothing.

    Raises OtherDatabaseError where transactions are open, but none of them on River's database.
    """
    explicit = ambient.joined()
    if explicit is not None:
        return adopt(explicit)
    elsewhere: OtherDatabaseError | None = None
    for owner in ambient.watched():
        try:
            adopted = adopt(owner)
        except OtherDatabaseError as error:
            elsewhere = elsewhere or error
            continue
        if getattr(adopted, "in_transaction", True):
            return adopted
    if elsewhere is not None:
        raise elsewhere
    return None


async def ambient_awaited(
    adopt: Callable[[Any], Awaitable[AwaitedConnection]],
) -> AwaitedConnection | None:
    """Do as `ambient_connection` for an awaited driver."""
    explicit = ambient.joined()
    if explicit is not None:
        return await adopt(explicit)
    elsewhere: OtherDatabaseError | None = None
    for owner in ambient.watched():
        try:
            return await adopt(owner)
        except OtherDatabaseError as error:
            elsewhere = elsewhere or error
    if elsewhere is not None:
        raise elsewhere
    return None


async def borrow_awaited(raw: Any, vendor: str, own_type: str) -> tuple[AwaitedConnection, Any]:
    """Return a connection of SQLAlchemy, awaited, and the database library's one below it.

    Raises AmbientTransactionError for an object of another library, and as `borrow` does.
    """
    if library_of(raw, "sqlalchemy") is None:
        raise AmbientTransactionError(
            f"AsyncClient joins a {own_type}, or an AsyncSession or AsyncConnection of SQLAlchemy, not "
            f"{type_name(raw)}"
        )
    from river_core.drivers.sqlalchemy_awaited import adopt  # only the library in use is imported

    return await adopt(raw, vendor, own_type)


def wrapped(error: Exception, raw: Any = None) -> DatabaseError:
    """Return our error for one of SQLAlchemy's or Django's, by the database library's error inside it.

    `raw`, the library's connection, names the database where River's tables are not in it.
    """
    import sqlite3  # here, like the rest: who imports the client has no need of a driver

    from river_core.drivers import sqlite_errors

    cause = getattr(error, "orig", None) or error.__cause__ or error
    if isinstance(cause, sqlite3.Error | OverflowError):
        return sqlite_errors.wrapped(cause, raw if isinstance(raw, sqlite3.Connection) else None)
    if isinstance(cause, UnicodeError):
        return RejectedValueError(f"a value cannot be sent to the database: {cause}")
    from river_core.drivers.psycopg_errors import from_state  # SQLite needs no psycopg

    state = getattr(cause, "pgcode", None) or getattr(cause, "sqlstate", None)
    return from_state(cause, state, raw)


def plain_row(row: Row) -> Row:
    """Return a row as our own connections give it: times in UTC, binary values as bytes."""
    return [_plain(value) for value in row]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return bytes(value) if isinstance(value, memoryview) else value


def recognised(raw: Any) -> Borrowed | None:
    """Return a connection of SQLAlchemy or Django, borrowed; None for any other object."""
    root = library_of(raw)
    if root == "sqlalchemy":
        from river_core.drivers.sqlalchemy_adopted import adopt  # only the library in use is imported

        return adopt(raw)
    if root == "django":
        from river_core.drivers.django_adopted import DjangoConnection  # only the library in use is imported

        return DjangoConnection(raw.alias) if hasattr(raw, "alias") else None
    return None


def library_of(raw: Any, *libraries: str) -> str | None:
    """Return which of `libraries`, SQLAlchemy and Django unless named, has a class of this object."""
    roots = {parent.__module__.partition(".")[0] for parent in type(raw).__mro__}
    return next((name for name in libraries or ("sqlalchemy", "django") if name in roots), None)


def is_transactional(library_connection: Any) -> bool:
    """Tell whether a statement on a connection belongs to a transaction instead of committing by itself.

    SQLAlchemy says of every connection in use that it is in a transaction, so its library's one is asked.
    """
    if getattr(library_connection, "autocommit", None) is True:
        return False
    if not hasattr(library_connection, "in_transaction"):
        return True
    return library_connection.isolation_level is not None or bool(library_connection.in_transaction)
