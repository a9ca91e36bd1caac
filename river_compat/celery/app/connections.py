"""`app.connection()` and its kin: the application's database where health checks expect a broker."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import kombu.connection
from kombu.exceptions import OperationalError

from river_compat.celery.app import database
from river_compat.celery.app.amqp import AMQP
from river_compat.celery.exceptions import UnsupportedAttribute, unsupported_text
from river_core import errors, task_rows

NO_ROW = 0

_COUNT = (
    "there is no broker; Client(app.runtime.driver).job_count_by_queue([...]) of river_core counts what waits"
)
_KOMBUS = {
    **dict.fromkeys(("SimpleQueue", "SimpleBuffer", "channel", "default_channel"), _COUNT),
    **dict.fromkeys(("Producer", "Consumer"), "there is no broker; send with apply_async or send_task"),
}


class DatabaseConnection:
    """Answers what a broker's connection is asked: whether it can be reached, and what it is called."""

    stands_for_database = True

    def __init__(self, app: Any) -> None:
        """Belong to an application; nothing connects yet."""
        self.app = app
        self.connected = False

    def connect(self) -> DatabaseConnection:
        """Ask the database; raises kombu's OperationalError where it does not answer."""
        try:
            task_rows.get_row(self.app.runtime.driver, NO_ROW)
        except errors.OperationalError as error:
            self.connected = False
            raise OperationalError(str(error)) from error
        self.connected = True
        return self

    def ensure_connection(
        self,
        errback: Callable[[BaseException, float], Any] | None = None,
        max_retries: int | None = None,
        interval_start: float = 2,
        interval_step: float = 2,
        interval_max: float = 30,
        callback: Callable[[], Any] | None = None,
        reraise_as_library_errors: bool = True,
        timeout: float | None = None,
    ) -> DatabaseConnection:
        """Ask until the database answers, `max_retries` times at most (None: for ever).

        Pauses are in seconds. Raises kombu's OperationalError after the last try, or `timeout` seconds.
        """
        del reraise_as_library_errors
        deadline = None if timeout is None else time.monotonic() + timeout
        tries, pause = 0, interval_start
        while True:
            try:
                return self.connect()
            except OperationalError as error:
                over = deadline is not None and time.monotonic() + pause > deadline
                if over or (max_retries is not None and tries >= max_retries):
                    raise
                if errback is not None:
                    errback(error, pause)
            if callback is not None:
                callback()
            time.sleep(pause)
            tries, pause = tries + 1, min(pause + interval_step, interval_max)

    def as_uri(self, include_password: bool = False) -> str:
        """Return the database's URL, without its password unless asked for."""
        url = database.database_url(self.app.conf)
        return url if include_password else database.without_password(url)

    def info(self) -> dict[str, Any]:
        """Return the facts that Celery's command lines print."""
        return {"transport": database.scheme_of_url(self.as_uri()), "uri": self.as_uri()}

    def release(self) -> None:
        """End; the application keeps its connections for the next use."""
        self.connected = False

    close = release

    def __getattr__(self, name: str) -> Any:
        """Refuse, by name, what kombu's connection has and a database has not; an AttributeError, too."""
        if name in _KOMBUS:
            raise UnsupportedAttribute(unsupported_text(f"app.connection().{name}", _KOMBUS[name]))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def clone(self) -> DatabaseConnection:
        """Return another one."""
        return DatabaseConnection(self.app)

    def __enter__(self) -> DatabaseConnection:
        """Return itself; `release` is called at the end of the block."""
        return self

    def __exit__(self, *exc_info: Any) -> None:
        """Release."""
        self.release()

    def __repr__(self) -> str:
        """Show the database."""
        return f"<DatabaseConnection: {self.as_uri()}>"


class Connections:
    """The part of an application that other code asks for connections."""

    conf: Any

    def connection(self, hostname: str | None = None, **options: Any) -> Any:
        """Return the connection to the application's database.

        The URL of a broker gives kombu's connection to that, as for moving old messages.
        """
        if hostname is not None and not database.is_database(hostname):
            options.setdefault("failover_strategy", self.conf.broker_failover_strategy)
            make: Any = kombu.connection.Connection
            return make(hostname, **options)
        return DatabaseConnection(self)

    broker_connection = connection

    def connection_for_read(self, url: str | None = None, **options: Any) -> Any:
        """Return the same: reading and writing use one database."""
        return self.connection(url, **options)

    def connection_for_write(self, url: str | None = None, **options: Any) -> Any:
        """Return the same: reading and writing use one database."""
        return self.connection(url, **options)

    @contextmanager
    def connection_or_acquire(self, connection: Any = None, pool: bool = True, **options: Any) -> Any:
        """Give a connection for a block: the one given, or the database's."""
        del pool, options
        yield connection if connection is not None else self.connection()

    default_connection = connection_or_acquire

    @cached_property
    def amqp(self) -> Any:
        """Queues and routes by Celery's names."""
        return AMQP(self)

    def select_queues(self, queues: Any = None) -> None:
        """Work these queues only, in a worker that is given none."""
        self.amqp.queues.select(queues)
