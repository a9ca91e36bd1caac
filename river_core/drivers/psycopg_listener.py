"""A dedicated Postgres connection that hears notifications."""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import sql as composed

from river_core.db.statement import Sql, Statement
from river_core.drivers.base import Notification, Row
from river_core.drivers.psycopg_errors import query, wrapped
from river_core.errors import OperationalError
from river_core.forking import in_forked_child

MAX_WAITING = 1_000
"""Notifications kept for one reader; older ones are dropped beyond it, polling covers them."""


class PsycopgListener:
    """Hears topics on one connection; `fetch` runs statements on the same session (advisory locks)."""

    def __init__(self, raw: psycopg.Connection[Any], sql: Sql, topics: Sequence[str]) -> None:
        """Listen to bare topics on an open autocommit connection, which is closed with this object."""
        self._raw = raw
        self._lock = threading.Lock()
        self._topics: dict[str, str] = {}
        self._waiting: deque[Notification] = deque(maxlen=MAX_WAITING)
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        self._selector.register(raw.fileno(), selectors.EVENT_READ)
        raw.add_notify_handler(self._heard)
        in_forked_child(self._leave_to_parent)
        try:
            self._listen(sql, topics)
        except BaseException:
            self.close()
            raise

    def _listen(self, sql: Sql, topics: Sequence[str]) -> None:
        self.fetch(sql.statement("session_stays_idle"))
        schema = sql.schema or self.fetch(sql.statement("session_current_schema"))[0][0]
        self._topics = {f"{schema}.{topic}": topic for topic in topics}
        try:
            for channel in self._topics:
                self._raw.execute(composed.SQL("LISTEN {}").format(composed.Identifier(channel)))
        except psycopg.Error as error:
            raise wrapped(error) from error

    def fetch(self, statement: Statement) -> list[Row]:
        """Run a statement on this session; notifications that arrive meanwhile are kept for `wait`."""
        try:
            with self._lock:
                cursor = self._raw.execute(query(statement.sql), statement.parameters)
                return list(cursor.fetchall()) if cursor.description else []
        except (psycopg.Error, UnicodeError) as error:
            raise wrapped(error) from error
        finally:
            if self._waiting:  # taken from the socket at which another thread may wait for them
                self.wake()

    def wait(self, timeout: float) -> list[Notification]:
        """Return what arrived, or an empty list after `timeout` seconds or a wake-up."""
        deadline = time.monotonic() + timeout
        while not self._waiting:
            if self._raw.closed:
                raise OperationalError("the listening connection is closed")
            ready = self._selector.select(max(0.0, deadline - time.monotonic()))
            woken = any(key.fileobj is self._wake_reader for key, _ in ready)
            if woken:
                self._drain_wake()
            if len(ready) > woken:
                self._read()
            if woken or not ready:
                break
        heard = []
        while self._waiting:
            heard.append(self._waiting.popleft())
        return heard

    def wake(self) -> None:
        """Make a waiting `wait` return at once."""
        try:
            self._wake_writer.send(b"\0")
        except OSError:
            return  # full, so a wake-up is under way already; or closed, so nobody waits

    def close(self) -> None:
        """Close the connection; harmless twice."""
        self._selector.close()
        self._wake_reader.close()
        self._wake_writer.close()
        self._raw.close()

    def _leave_to_parent(self) -> None:
        """In a forked child: let go of the parent's socket without a word to the server.

        A child that outlives its parent would keep the parent's session, and the locks in it, alive.
        """
        if self._raw.closed:
            return
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, self._raw.fileno())
        os.close(nowhere)

    def _heard(self, notify: psycopg.Notify) -> None:
        self._waiting.append(Notification(self._topics.get(notify.channel, notify.channel), notify.payload))

    def _drain_wake(self) -> None:
        try:
            while self._wake_reader.recv(1024):
                pass
        except BlockingIOError:
            return

    def _read(self) -> None:
        """Take what the server sent without asking it anything."""
        connection = self._raw.pgconn
        try:
            with self._lock:
                connection.consume_input()
                while (notify := connection.notifies()) is not None:
                    encoding = self._raw.info.encoding
                    self._heard(
                        psycopg.Notify(
                            notify.relname.decode(encoding), notify.extra.decode(encoding), notify.be_pid
                        )
                    )
        except psycopg.Error as error:
            raise wrapped(error) from error
