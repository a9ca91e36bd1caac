"""What a driver is: it connects, adopts the caller's transaction, runs statements and listens.

Errors of the library are wrapped into `river_core.errors.DatabaseError` and its subclasses, chained
to the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from river_core.db.statement import Sql, Statement

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Notification:
    """One message of a River topic; `payload` is the sender's text. `topic` carries no schema."""

    topic: str
    payload: str


def type_name(value: object) -> str:
    """Return the full name of a value's type, for messages."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


@runtime_checkable
class CreatesFile(Protocol):
    """A driver of a database that is a file, which only a migration creates."""

    def create_file(self) -> None:
        """Create the file, empty, where there is none; raises OperationalError."""
        ...


class Connection(Protocol):
    """One connection, or the caller's own one that was adopted."""

    @property
    def raw(self) -> Any:
        """The connection of the driver's library, as `adopt` takes it."""
        ...

    @property
    def in_transaction(self) -> bool:
        """Whether the next statement belongs to a transaction, open or begun by that statement."""
        ...

    @property
    def copies(self) -> bool:
        """Whether `fetch` takes COPY statements, which have `data`."""
        ...

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows; an empty list where it returns none."""
        ...

    def run_script(self, sql: str) -> None:
        """Run a script of several statements without parameters (migrations)."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Commit at the end, roll back on an exception. On an adopted connection it does neither:
        the caller's transaction decides."""
        ...


class Listener(Protocol):
    """One dedicated connection that hears notifications. Used by one thread, woken by any."""

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement on this very session, for what must live and die with it."""
        ...

    def wait(self, timeout: float) -> list[Notification]:
        """Return what arrived, or an empty list after `timeout` seconds or a wake-up.

        Raises OperationalError when the connection is lost.
        """
        ...

    def wake(self) -> None:
        """Make a waiting `wait` return at once; callable from any thread."""
        ...

    def close(self) -> None:
        """Close the connection; harmless twice."""
        ...


class Driver(Protocol):
    """One database that holds River's schema."""

    @property
    def sql(self) -> Sql:
        """The statements of this driver's dialect and schema; on Postgres, from the first connection or
        adopted one on, those of the very server."""
        ...

    def connect(self) -> AbstractContextManager[Connection]:
        """Lend a connection of our own; each statement commits by itself outside `transaction()`."""
        ...

    def ambient(self) -> Connection | None:
        """The connection given to `river_core.join` around the current call, or a watched one, adopted.

        None where no transaction is open. Raises AmbientTransactionError when the joined connection is
        unusable, OtherDatabaseError when the open transaction is on another database, and
        AwaitedTransactionError when it is that of an async session.
        """
        ...

    def open_transaction(self) -> Any:
        """What has a transaction open around the current call, whichever database it is on; else None."""
        ...

    def adopt(self, raw: Any) -> Connection:
        """Adopt a connection of the driver's library for statements inside its open transaction.

        Raises AmbientTransactionError as `ambient` does.
        """
        ...

    @property
    def is_connected(self) -> bool:
        """Whether connections of our own are open; a program that only lends its own may want none."""
        ...

    def listen(self, topics: Sequence[str]) -> Listener:
        """Open a listener for bare topics such as `river_insert`; raises OperationalError."""
        ...

    def close(self) -> None:
        """Close every connection of our own; harmless twice."""
        ...


class AwaitedConnection(Protocol):
    """One connection whose statements are awaited."""

    @property
    def raw(self) -> Any:
        """The connection of the driver's library, as `adopt` takes it."""
        ...

    @property
    def copies(self) -> bool:
        """As that of `Connection`."""
        ...

    async def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """As that of `Connection`, around awaited statements."""
        ...


class AwaitedDriver(Protocol):
    """One database that holds River's schema, for coroutines."""

    @property
    def sql(self) -> Sql:
        """As that of `Driver`."""
        ...

    def connect(self) -> AbstractAsyncContextManager[AwaitedConnection]:
        """Lend a connection of our own; each statement commits by itself outside `transaction()`."""
        ...

    async def ambient(self) -> AwaitedConnection | None:
        """As that of `Driver`."""
        ...

    async def adopt(self, raw: Any) -> AwaitedConnection:
        """As that of `Driver`."""
        ...

    async def close(self) -> None:
        """Close every connection of our own; harmless twice."""
        ...
