"""Hears notifications on SQLite: watches for commits and reads River's outbox table."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Sequence

from river_core.db.statement import Sql, Statement
from river_core.drivers.base import Notification, Row
from river_core.drivers.sqlite_errors import SQLITE_ERRORS, wrapped

POLL_SECONDS = 0.005


class SqliteListener:
    """Looks every 5 ms whether anybody has committed, which costs about 1% of a core, and reads only then."""

    def __init__(self, raw: sqlite3.Connection, sql: Sql, topics: Sequence[str]) -> None:
        """Hear bare topics from now on, on an open connection, which is closed with this object."""
        self._raw = raw
        self._sql = sql
        self._topics = frozenset(topics)
        self._woken = threading.Event()
        self._lock = threading.Lock()
        self._look = sql.statement("session_data_version")
        try:
            self._version = self.fetch(self._look)
            self._cursor = int(self.fetch(sql.statement("notification_max_id"))[0][0])
        except BaseException:
            self.close()
            raise

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement on this connection."""
        try:
            with self._lock:
                return self._raw.execute(statement.sql, statement.parameters).fetchall()
        except SQLITE_ERRORS as error:
            raise wrapped(error, self._raw) from error

    def wait(self, timeout: float) -> list[Notification]:
        """Return what arrived, or an empty list after `timeout` seconds or a wake-up."""
        deadline = time.monotonic() + timeout
        while True:
            heard = self._read()
            if heard or self._woken.is_set():
                break
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                break
            self._woken.wait(min(POLL_SECONDS, remaining))
        self._woken.clear()
        return heard

    def wake(self) -> None:
        """Make a waiting `wait` return at once."""
        self._woken.set()

    def close(self) -> None:
        """Close the connection; harmless twice."""
        self._raw.close()

    def _read(self) -> list[Notification]:
        """Return the new rows of our topics; the cursor also passes those of other topics."""
        version = self.fetch(self._look)
        if version == self._version:
            return []
        self._version = version
        rows = self.fetch(self._sql.statement("notification_get_after", id=self._cursor))
        if rows:
            self._cursor = rows[-1][0]
        return [Notification(topic, payload) for _, topic, payload in rows if topic in self._topics]
