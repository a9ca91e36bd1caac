"""How a client's checked rows get into the database: in which transaction, with which plugins, told to whom.

`Client` makes the rows and has two of these, for its ordinary inserts and for its fast ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from river_core.ambient import join, joined
from river_core.db.statement import Sql
from river_core.deferring import Deferring, UnreadResults
from river_core.drivers.base import Connection, Driver
from river_core.errors import AwaitedTransactionError, OtherDatabaseError, ValidationError
from river_core.insert import InsertParams, InsertResult
from river_core.insert_plugins import insert_with_plugins
from river_core.inserting import (
    InsertNotifyLimiter,
    are_alike,
    available_queues,
    insert_alike,
    insert_many,
)
from river_core.inserting_fast import insert_many_fast
from river_core.inserting_overlapped import NotAlikeError, Told, insert_while_made, overlaps
from river_core.plugins import PluginSet
from river_core.row_builder import RowBuilder
from river_core.trailing import TrailingNotifications

Enqueue = Literal["ambient", "own", "after_commit"]
Rows = Sequence[InsertParams]
Results = Sequence[InsertResult]


@dataclass(frozen=True, slots=True)
class InsertContext:
    """What all inserts of one client share."""

    driver: Driver
    rows: RowBuilder
    limiter: InsertNotifyLimiter
    trailing: TrailingNotifications | None
    plugins: PluginSet | None
    lenient_queue_names: bool
    durable: bool = True
    """Whether commits on our own connections wait for the disk."""


class Inserter:
    """Inserts the rows of one client."""

    def __init__(self, context: InsertContext, *, fast: bool = False, only_ids: bool = False) -> None:
        """Insert with results that are read back, or, `fast`, without: their jobs have the id 0.

        With `only_ids` no more than the ids is read back where that makes a difference.
        """
        self._context = context
        self._driver = context.driver
        self._fast = fast
        self._only_ids = only_ids
        self._deferring = Deferring(context.driver, self.insert_on, self._insert_own)

    def insert(self, rows: Rows, enqueue: Enqueue) -> Results:
        """Insert in the transaction around the call, in one of our own, or after a commit; all or none."""
        if enqueue == "after_commit":
            return self._insert_after_commit(rows)
        is_explicit = joined() is not None
        try:
            adopted = self._ambient(enqueue)
        except AwaitedTransactionError as error:
            self._deferring.before_commit(error.owner, rows, is_explicit)
            return self._unread(rows)
        except OtherDatabaseError:
            if is_explicit:
                raise
            self._deferring.elsewhere(self._driver.open_transaction(), rows)
            return self._unread(rows)
        return self._insert_own(rows) if adopted is None else self.insert_on(adopted, rows)

    def insert_tx(self, connection: Any, rows: Rows) -> Results:
        """Insert inside the open transaction of a connection of the driver's library."""
        try:
            adopted = self._driver.adopt(connection)
        except AwaitedTransactionError as error:
            self._deferring.before_commit(error.owner, rows, is_explicit=True)
            return self._unread(rows)
        return self.insert_on(adopted, rows)

    def insert_on(self, adopted: Connection, rows: Rows) -> Results:
        """Insert on a borrowed connection, whose commit or rollback nobody tells of.

        The limiter counts here, too, as River's does: notifications of many small transactions would make
        their commits wait for each other. What it holds back is found by the poll, or told a moment later on
        a connection of our own; where there is none yet, none is opened for that, and nothing is held back.
        """
        context = self._context

        def notify(last: Rows) -> list[str]:
            available = available_queues(last)
            if context.trailing is not None and not self._driver.is_connected:
                return available
            told = context.limiter.allowed_queues(available)
            self._announce_later(available, told)
            return told

        if context.plugins is not None and context.plugins.any:
            return self._with_plugins(adopted, self._driver.sql, rows, notify, context.plugins)
        rows = context.rows.stamped(rows)
        return self._write_alone(adopted, self._driver.sql, rows, notify(rows))

    def _insert_after_commit(self, rows: Rows) -> Results:
        owner = self._driver.open_transaction()
        if owner is None:
            return self._insert_own(rows)
        self._deferring.after_commit(owner, rows)
        return self._unread(rows)

    def _insert_own(self, rows: Rows) -> Results:
        context = self._context
        if context.plugins is not None and context.plugins.any:
            return self._insert_own_with_plugins(rows, context.plugins)
        rows = context.rows.stamped(rows)
        available = available_queues(rows)
        notified = context.limiter.allowed_queues(available)
        try:
            with self._driver.connect() as connection:
                results = self._write_alone(connection, self._own_sql, rows, notified)
        except BaseException:
            context.limiter.forget(notified)
            raise
        self._announce_later(available, notified)
        return results

    def insert_while_made(self, chunks: Iterator[Rows]) -> list[int] | None:
        """Insert rows on our own connection, taking the next while the server writes those before.

        None, with nothing written, where they have to be written another way.
        """
        context = self._context
        if context.plugins is not None and context.plugins.any:
            return None
        told = Told(context.limiter)
        try:
            with self._driver.connect() as connection:
                if not overlaps(connection):
                    return None
                checked = (context.rows.stamped(context.rows.checked(rows)) for rows in chunks)
                ids = insert_while_made(connection, self._own_sql, checked, told)
        except BaseException as error:
            told.forget()
            if isinstance(error, NotAlikeError):
                return None
            raise
        self._announce_later(told.available, told.queues)
        return ids

    def _insert_own_with_plugins(self, rows: Rows, plugins: PluginSet) -> Results:
        available: list[str] = []
        notified: list[str] = []

        def allowed(last: Rows) -> list[str]:
            available.extend(available_queues(last))
            notified.extend(self._context.limiter.allowed(last))
            return notified

        try:
            with self._driver.connect() as own, own.transaction():
                results = self._with_plugins(own, self._own_sql, rows, allowed, plugins)
        except BaseException:
            self._context.limiter.forget(notified)
            raise
        self._announce_later(available, notified)
        return results

    def _with_plugins(
        self,
        connection: Connection,
        sql: Sql,
        rows: Rows,
        notify: Callable[[Rows], list[str]],
        plugins: PluginSet,
    ) -> Results:
        """Insert in the connection's transaction, which is also that of whatever the plugins insert."""

        def write(last: Rows) -> list[InsertResult]:
            last = self._context.rows.stamped(last)
            return list(self._write(connection, sql, last, notify(last)))

        lenient = self._context.lenient_queue_names
        with join(connection.raw):
            return insert_with_plugins(plugins, rows, lenient, write, are_read=not self._fast)

    def _write_alone(
        self, connection: Connection, sql: Sql, rows: Rows, notify_queues: Collection[str]
    ) -> Results:
        """Write rows that no plugin wants to see as they are stored."""
        if self._only_ids and rows and are_alike(sql, rows):
            ids = insert_alike(connection, sql, rows, notify_queues)
            return UnreadResults(rows, self._context.rows.clock.now(), ids)
        return self._write(connection, sql, rows, notify_queues)

    def _write(self, connection: Connection, sql: Sql, rows: Rows, notify_queues: Collection[str]) -> Results:
        if not self._fast:
            return insert_many(connection, sql, rows, notify_queues)
        if rows:
            insert_many_fast(connection, sql, rows, notify_queues)
        return self._unread(rows)

    @property
    def _own_sql(self) -> Sql:
        """The statements for a connection of our own, once there is one."""
        sql = self._driver.sql
        return sql if self._context.durable else sql.relaxed

    def _announce_later(self, queues: Iterable[str], notified: Collection[str]) -> None:
        trailing = self._context.trailing
        if trailing is not None and (held := [queue for queue in queues if queue not in notified]):
            trailing.hold(held)

    def _unread(self, rows: Rows) -> Results:
        return UnreadResults(rows, self._context.rows.clock.now())

    def _ambient(self, enqueue: Enqueue) -> Connection | None:
        if enqueue == "own":
            return None
        if enqueue != "ambient":
            raise ValidationError(f"enqueue must be 'ambient', 'own' or 'after_commit', not {enqueue!r}")
        return self._driver.ambient()
