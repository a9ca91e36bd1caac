"""Writes rows that are alike while the next ones are made, in one transaction of our own.

For connections that send a statement without waiting for the answer to the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeGuard, runtime_checkable

from river_core.db import job_inserts, notifications
from river_core.db.statement import Sql, Statement
from river_core.drivers.base import Connection, Row
from river_core.errors import DatabaseError, RiverError
from river_core.insert import InsertParams
from river_core.inserting import InsertNotifyLimiter, available_queues


@runtime_checkable
class Overlapping(Protocol):
    """A connection of our own on which the next statement can be made while the server works."""

    @property
    def overlaps(self) -> bool:
        """Whether this one can."""
        ...

    def fetch_each(self, statements: Iterable[Statement]) -> list[list[Row]]:
        """Run statements in one transaction, taking each when the one before is sent; return their rows.

        What the iterable raises, or an error of the database, undoes all.
        """
        ...


class NotAlikeError(RiverError):
    """Rows differ in more than their arguments; nothing was written."""


class Told:
    """The queues of which a transaction has rows, and those that its commit notifies."""

    def __init__(self, limiter: InsertNotifyLimiter) -> None:
        """Ask `limiter` once for each queue."""
        self._limiter = limiter
        self.available: list[str] = []
        self.queues: list[str] = []

    def payloads(self, rows: Sequence[InsertParams]) -> list[str]:
        """Return what is to be notified with these rows."""
        new = [queue for queue in available_queues(rows[:1]) if queue not in self.available]
        passed = self._limiter.allowed_queues(new)
        self.available += new
        self.queues += passed
        return [notifications.insert_payload(queue) for queue in passed]

    def forget(self) -> None:
        """Take back what the limiter remembers; the transaction failed."""
        self._limiter.forget(self.queues)


def overlaps(connection: Connection) -> TypeGuard[Overlapping]:
    """Tell whether `insert_while_made` can use a connection."""
    return isinstance(connection, Overlapping) and connection.overlaps


def insert_while_made(
    connection: Overlapping, sql: Sql, chunks: Iterable[Sequence[InsertParams]], told: Told
) -> list[int]:
    """Insert the rows of all chunks, those of each alike, and return their ids, in order.

    Raises NotAlikeError where those of a chunk are not, what `chunks` raises, and RejectedValueError when the
    database refuses a value; then nothing is written.
    """
    sizes: list[int] = []

    def statements() -> Iterator[Statement]:
        for rows in chunks:
            if not job_inserts.are_alike(sql, rows):
                raise NotAlikeError("rows of a chunk differ in more than their arguments")
            sizes.append(len(rows))
            yield job_inserts.job_insert_alike(sql, rows, told.payloads(rows))

    ids = [[row[0] for row in rows] for rows in connection.fetch_each(statements())]
    if [len(found) for found in ids] != sizes:
        raise DatabaseError(f"{sum(sizes)} rows were inserted but {sum(map(len, ids))} came back")
    return [row_id for found in ids for row_id in found]
