"""Django's database connections and caches around the tasks of a worker, in whichever thread or process.

A connection lives as long as CONN_MAX_AGE says, and is tried before a task uses it for the first time, so one
that was cut between two tasks costs no task.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import Any

from django.core.cache import close_caches
from django.db import Error, connections

from river_core.forking import in_forked_child

logger = logging.getLogger(__name__)


class DjangoConnections:
    """Looks after the connections of the thread that runs a task."""

    def __init__(self, reuse_max: int | None) -> None:
        """Take CELERY_DB_REUSE_MAX: after how many tasks a thread closes its connections anyway."""
        self._reuse_max = reuse_max
        self._thread = threading.local()
        self._kept: list[Any] = []
        in_forked_child(self._leave_to_parent)

    def task_begins(self) -> None:
        """Close connections that are too old or broken; the others are tried before their first use."""
        for connection in _opened():
            _close_if_unusable(connection)
            connection.health_check_enabled = True

    def task_ends(self) -> None:
        """Close connections that are too old or broken, or all where it is time for that, and the caches."""
        is_time = self._is_time_to_close()
        for connection in _opened():
            if is_time and not _is_in_memory(connection):
                _close(connection)
            else:
                _close_if_unusable(connection)
        close_caches()

    def _is_time_to_close(self) -> bool:
        if not self._reuse_max:
            return False
        tasks = getattr(self._thread, "tasks", 0) + 1
        self._thread.tasks = tasks % self._reuse_max
        return bool(tasks >= self._reuse_max)

    def _leave_to_parent(self) -> None:
        """Forget, without a word to the server, connections that a forked child has from its parent."""
        for connection in connections.all(initialized_only=True):
            raw = connection.connection
            if raw is None or _is_in_memory(connection):
                continue
            _point_nowhere(raw)
            self._kept.append(raw)  # closing it could still disturb the parent
            connection.connection = None
            if hasattr(connection, "_connection_pools"):
                connection._connection_pools.pop(connection.alias, None)


def _opened() -> list[Any]:
    """Return this thread's connections, but for those in a transaction, as in the test that runs a task."""
    return [each for each in connections.all(initialized_only=True) if not each.in_atomic_block]


def _close_if_unusable(connection: Any) -> None:
    try:
        connection.close_if_unusable_or_obsolete()
    except Error as error:
        _forget(connection, error)


def _close(connection: Any) -> None:
    try:
        connection.close()
    except Error as error:
        _forget(connection, error)


def _forget(connection: Any, error: Error) -> None:
    logger.warning("a connection of Django to %r could not be closed: %s", connection.alias, error)
    connection.connection = None


def _is_in_memory(connection: Any) -> bool:
    return connection.vendor == "sqlite" and bool(connection.is_in_memory_db())


def _point_nowhere(raw: Any) -> None:
    """Let the socket of a connection lead nowhere in this process; the parent's stays as it is."""
    try:
        descriptor = raw.fileno()
    except Exception:  # noqa: BLE001 - a file of SQLite, or a connection that is closed already
        return
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
