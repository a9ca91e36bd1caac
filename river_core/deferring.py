"""Inserts that wait for the commit of somebody else's transaction.

They wait where the transaction's statements are awaited (an async session: until just before its
commit) and where it is on another database or the caller asked for it (until after the commit).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from river_core.drivers.base import Connection, Driver
from river_core.drivers.borrowed import owner_of
from river_core.errors import OtherDatabaseError
from river_core.insert import InsertParams, InsertResult
from river_core.inserting import refuse_repeated_keys
from river_core.job import JobRow

Rows = Sequence[InsertParams]

logger = logging.getLogger(__name__)


class AfterCommit:
    """Inserts one client's rows after a commit; warns once where transactions are on another database."""

    def __init__(self, insert_own: Callable[[Rows], object]) -> None:
        """Take the way in which the client inserts on a connection of its own."""
        self._insert_own = insert_own
        self._warned = False

    def after_commit(self, owner: Any, rows: Rows) -> None:
        """Insert on our own connection once a transaction is committed.

        Raises AmbientTransactionError, by name, where the library does not tell of a commit.
        """
        refuse_repeated_keys(rows)
        owner_of(owner).after_commit(partial(self._insert_own, rows))

    def elsewhere(self, owner: Any, rows: Rows) -> None:
        """Do the same for a transaction that cannot have the rows in it, and say so once."""
        self.after_commit(owner, rows)
        if not self._warned:
            self._warned = True
            logger.warning(
                "the open transaction is on another database than River: jobs are inserted after its "
                "commit, and are lost if the process ends in between"
            )


class Deferring(AfterCommit):
    """Holds back one client's rows, also until just before a commit."""

    def __init__(
        self,
        driver: Driver,
        insert_on: Callable[[Connection, Rows], object],
        insert_own: Callable[[Rows], object],
    ) -> None:
        """Take the two ways in which the client inserts: on a borrowed connection, and on one of its own."""
        super().__init__(insert_own)
        self._driver = driver
        self._insert_on = insert_on

    def before_commit(self, owner: Any, rows: Rows, is_explicit: bool) -> None:
        """Insert in the transaction of an async session when it is about to commit.

        Where `is_explicit` a session on another database makes its commit fail, else it delays the rows.
        """
        refuse_repeated_keys(rows)

        def insert() -> None:
            try:
                adopted = self._driver.adopt(owner)
            except OtherDatabaseError:
                if is_explicit:
                    raise
                self.elsewhere(owner, rows)
                return
            self._insert_on(adopted, rows)

        owner_of(owner).before_commit(insert)


class UnreadResults(Sequence[InsertResult]):
    """Results for rows that do not exist yet, or were not read back: their id is 0, unless it is given."""

    def __init__(self, rows: Rows, now: datetime, ids: Sequence[int] | None = None) -> None:
        """Take the rows, and their ids where they are known; a result is made when it is looked at."""
        self._rows = rows
        self._now = now
        self.ids = [0] * len(rows) if ids is None else ids

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        """Return the result of one row, or of a slice of them."""
        if isinstance(index, slice):
            return UnreadResults(self._rows[index], self._now, self.ids[index])
        return InsertResult(_unread_row(self._rows[index], self._now, self.ids[index]))


def deferred_results(rows: Rows, now: datetime) -> list[InsertResult]:
    """Return results for rows that do not exist yet: their id is 0, and no unique key was looked up."""
    return list(UnreadResults(rows, now))


def ids_of(results: Sequence[InsertResult]) -> list[int]:
    """Return the ids of rows, 0 where one is not known yet."""
    if isinstance(results, UnreadResults):
        return list(results.ids)
    return [result.job.id for result in results]


def _unread_row(row: InsertParams, now: datetime, row_id: int) -> JobRow:
    return JobRow(
        id=row_id,
        state=row.state,
        attempt=0,
        max_attempts=row.max_attempts,
        attempted_at=None,
        created_at=row.created_at or now,
        finalized_at=None,
        scheduled_at=row.scheduled_at or now,
        priority=row.priority,
        queue=row.queue,
        kind=row.kind,
        encoded_args=row.encoded_args,
        encoded_metadata=row.encoded_metadata,
        encoded_tags=json.dumps(row.tags),
        encoded_errors=None,
        encoded_attempted_by=None,
        unique_key=row.unique_key,
        unique_states=row.unique_states,
    )
