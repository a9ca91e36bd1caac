"""SQLite through the standard library: our own connections, the caller's, and one that polls."""

from __future__ import annotations

import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from river_core import ambient
from river_core.db.statement import Dialect, Sql, Statement
from river_core.drivers import sqlite_json
from river_core.drivers.base import Row
from river_core.drivers.borrowed import SQLITE, Borrowed, ambient_connection, borrow
from river_core.drivers.pool import Pool
from river_core.drivers.sqlite_adopted import AdoptedConnection, check_usable, main_file
from river_core.drivers.sqlite_errors import SQLITE_ERRORS, is_locked, wrapped
from river_core.drivers.sqlite_listener import SqliteListener
from river_core.errors import (
    ConfigurationError,
    MissingSchemaError,
    OperationalError,
    OtherDatabaseError,
)

IN_MEMORY = ":memory:"
WAL_RETRY_SECONDS = 0.01
MAX_CONNECTIONS = 16


class OwnConnection:
    """A connection of our pool; each statement commits by itself outside `transaction()`."""

    copies = False

    def __init__(self, raw: sqlite3.Connection, sql: Sql) -> None:
        """Wrap an open connection in autocommit mode."""
        self.raw = raw
        self._sql = sql

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self.raw.in_transaction

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement and return its rows."""
        try:
            return self.raw.execute(statement.sql, statement.parameters).fetchall()
        except SQLITE_ERRORS as error:
            raise wrapped(error, self.raw) from error

    def run_script(self, sql: str) -> None:
        """Run several statements that take no parameters; inside `transaction()` they belong to it."""
        try:
            for part in statements(sql):
                self.raw.execute(part)
        except SQLITE_ERRORS as error:
            raise wrapped(error) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin a write transaction; commit at the end, roll back on an exception; an inner block joins."""
        if self.in_transaction:
            yield
            return
        self.fetch(self._sql.statement("transaction_begin_immediate"))
        try:
            yield
            self.raw.commit()
        except BaseException as error:
            if self.raw.in_transaction:
                self.raw.rollback()
            if isinstance(error, sqlite3.Error):
                raise wrapped(error) from error
            raise


def statements(script: str) -> Iterator[str]:
    """Split a script where SQLite itself sees the end of a statement."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending


class SqliteDriver:
    """River's schema in one SQLite file; `:memory:` is one database that this driver's connections share."""

    def __init__(
        self, path: str | Path, *, busy_timeout: float = 5.0, max_size: int = MAX_CONNECTIONS
    ) -> None:
        """Take the file's path; nothing is opened yet.

        `busy_timeout` limits, in seconds, waiting for the one writer and for one of the `max_size`
        connections.
        """
        if not str(path):
            raise ConfigurationError("the path of the SQLite database is empty; name a file or ':memory:'")
        self._sql = Sql(Dialect.SQLITE)
        self._busy_timeout = busy_timeout
        self._in_memory = str(path) == IN_MEMORY
        self._target = f"file:/river-{uuid.uuid4().hex}?vfs=memdb" if self._in_memory else str(path)
        self._keeper: sqlite3.Connection | None = None  # what is in memory lives as long as one is open
        self._lock = threading.Lock()
        self._pool: Pool[OwnConnection] = Pool(
            lambda: OwnConnection(self._open(), self._sql),
            lambda connection: connection.raw.close(),
            _is_usable,
            max_size,
            busy_timeout,
        )

    @property
    def sql(self) -> Sql:
        """The statements of this driver's dialect."""
        return self._sql

    def connect(self) -> AbstractContextManager[OwnConnection]:
        """Lend a connection of the pool; raises OperationalError when the file cannot be opened."""
        return self._pool.borrow()

    def ambient(self) -> AdoptedConnection | Borrowed | None:
        """Adopt the connection given to `river_core.join`, or a watched one, if any."""
        return ambient_connection(self.adopt)

    def open_transaction(self) -> Any:
        """Return what is joined or watched around the call, whichever database it is on, or None."""
        return ambient.open_transaction()

    def adopt(self, raw: Any) -> AdoptedConnection | Borrowed:
        """Return the caller's connection, ready for statements inside its transaction.

        Takes a sqlite3 connection, or one of SQLAlchemy or Django. Raises AmbientTransactionError when
        it is of another library, closed, or has another file open.
        """
        adopted: AdoptedConnection | Borrowed
        if isinstance(raw, sqlite3.Connection):
            check_usable(raw)
            adopted = AdoptedConnection(raw, self._sql)
        else:
            adopted = borrow(raw, SQLITE, "sqlite3.Connection")
        self.check_file(main_file(adopted, self._sql))
        return adopted

    def check_file(self, theirs: str) -> None:
        """Raise OtherDatabaseError unless the path of a connection's main file is that of ours."""
        if self._in_memory or not theirs or not _is_same_file(theirs, self._target):
            ours = "a database in memory" if self._in_memory else str(Path(self._target).absolute())
            raise OtherDatabaseError(
                f"the joined connection has {theirs or 'a database in memory'} open, but River lives in "
                f"{ours}; join a connection to that file, or insert with enqueue='own' to use a transaction "
                "of our own"
            )

    @property
    def is_connected(self) -> bool:
        """Whether connections of our own are open."""
        return self._pool.is_used

    def listen(self, topics: Sequence[str]) -> SqliteListener:
        """Open a connection that hears `topics`; raises DatabaseError where River's schema is missing."""
        return SqliteListener(self._open(), self._sql, topics)

    def close(self) -> None:
        """Close the pool; a database in memory is gone then. Harmless twice."""
        self._pool.close()
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None

    def _open(self) -> sqlite3.Connection:
        with self._lock:
            if self._in_memory and self._keeper is None:
                self._keeper = self._connect()
        raw = self._connect()
        try:
            sqlite_json.register(raw)
            self._set_wal(raw)
        except BaseException:
            raw.close()
            raise
        return raw

    def create_file(self) -> None:
        """Create the file, empty, where there is none, as a migration does; raises OperationalError."""
        if self._is_missing():
            self._connect_to_target().close()

    def _is_missing(self) -> bool:
        """Whether opening the file would create it; a folder that is missing is told by SQLite."""
        target = Path(self._target)
        return not self._in_memory and target.parent.is_dir() and not target.exists()

    def _connect(self) -> sqlite3.Connection:
        if self._is_missing():
            raise MissingSchemaError(f"there is no SQLite file {Path(self._target).absolute()}")
        return self._connect_to_target()

    def _connect_to_target(self) -> sqlite3.Connection:
        try:
            return sqlite3.connect(
                self._target,
                timeout=self._busy_timeout,  # first of all: what follows may find the file locked
                isolation_level=None,
                check_same_thread=False,
                uri=self._in_memory,
            )
        except sqlite3.Error as error:
            raise OperationalError(f"{self._target}: {error}") from error

    def _set_wal(self, raw: sqlite3.Connection) -> None:
        """Switch to WAL; the switch itself does not honour the busy time-out, so it is tried again."""
        connection = OwnConnection(raw, self._sql)
        deadline = time.monotonic() + self._busy_timeout
        while True:
            try:
                connection.fetch(self._sql.statement("session_wal"))
                return
            except OperationalError as error:
                if not is_locked(error) or time.monotonic() > deadline:
                    raise
            time.sleep(WAL_RETRY_SECONDS)


def _is_usable(connection: OwnConnection, _idle_seconds: float | None) -> bool:
    """Tell whether a connection may be lent: open and outside a transaction."""
    try:
        return not connection.in_transaction
    except sqlite3.ProgrammingError:
        return False


def _is_same_file(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:
        return False
