"""The client: inserts jobs and acts on stored jobs and queues. It works none; that is the worker's.

Inserts are here, what is done with stored jobs in `client_jobs`, with queues in `client_queues`.

Every call runs in the transaction of the connection given to `river_core.join`, where there is one,
else in one of its own. A client may be used from any thread and goes on after a fork.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from river_core import validation
from river_core.access import Access
from river_core.ambient import join
from river_core.client_jobs import JobCalls
from river_core.client_queues import QueueCalls
from river_core.clock import Clock, SystemClock
from river_core.drivers.base import Connection, Driver
from river_core.errors import ConfigurationError, UnknownJobKindError, ValidationError
from river_core.insert import (
    MAX_ATTEMPTS_DEFAULT,
    QUEUE_DEFAULT,
    InsertManyParams,
    InsertOpts,
    InsertParams,
    InsertResult,
    JobArgs,
)
from river_core.insert_options import InsertDefaults, check_params, insert_params
from river_core.insert_plugins import insert_with_plugins
from river_core.inserting import InsertNotifyLimiter, available_queues, insert_many
from river_core.keywords import options
from river_core.plugins import PluginSet
from river_core.task import Registry
from river_core.trailing import TrailingNotifications

Enqueue = Literal["ambient", "own"]

_NO_OPTIONS = InsertOpts()

logger = logging.getLogger(__name__)


class Client(JobCalls, QueueCalls):
    """Inserts jobs, and acts on stored jobs and queues (River: Client).

    >>> client = Client(open_driver("sqlite:///river.db"))  # doctest: +SKIP
    >>> client.insert(EncodedArgs("send_email", '{"to": 7}'), queue="mail")  # doctest: +SKIP
    """

    def __init__(
        self,
        driver: Driver,
        *,
        queue: str = QUEUE_DEFAULT,
        max_attempts: int = MAX_ATTEMPTS_DEFAULT,
        registry: Registry | None = None,
        skip_unknown_job_check: bool = False,
        clock: Clock | None = None,
        lenient_queue_names: bool = False,
        limiter: InsertNotifyLimiter | None = None,
        trailing: TrailingNotifications | None = None,
        plugins: Iterable[object] = (),
    ) -> None:
        """Take the defaults of all inserts; raises ConfigurationError for one that River refuses.

        With a `registry`, kinds that it does not know are refused. `lenient_queue_names` takes any name
        that the database does and warns once about one that River's other clients refuse. A `limiter`
        may be shared with others that insert in this process; `trailing` announces a moment later what
        the limiter holds back, else the workers' poll finds it. `plugins` see every insert.
        """
        try:
            validation.queue(queue, lenient_queue_names)
            validation.max_attempts(max_attempts)
        except ValidationError as error:
            raise ConfigurationError(f"the client's default {error}") from error
        self.driver = driver
        self.limiter = limiter or InsertNotifyLimiter()
        self._trailing = trailing
        self._defaults = InsertDefaults(queue, max_attempts, lenient_queue_names)
        self._registry = None if skip_unknown_job_check else registry
        given = PluginSet(plugins, registry)
        self._plugins = given if given.plugins or registry is not None else None
        self._clock = clock or SystemClock()
        self._access = Access(driver, self._clock)
        self._fixed_time = not isinstance(self._clock, SystemClock)
        self._warned_queues: set[str] = set()

    def insert(
        self,
        args: JobArgs,
        insert_opts: InsertOpts | None = None,
        *,
        enqueue: Enqueue = "ambient",
        **opts: Any,
    ) -> InsertResult:
        """Insert one job, with options as an object or as keywords of the same names.

        `enqueue="own"` passes a joined connection by. Raises ValidationError, UnknownJobKindError,
        AmbientTransactionError or DatabaseError; nothing is written then.
        """
        return self._insert([self._params(args, options(InsertOpts, insert_opts, opts))], enqueue)[0]

    def insert_many(
        self, jobs: Sequence[InsertManyParams], *, enqueue: Enqueue = "ambient"
    ) -> list[InsertResult]:
        """Insert several jobs, all or none; returns one result for each, in order. Raises as `insert`."""
        return self._insert([self._params(job.args, job.insert_opts or _NO_OPTIONS) for job in jobs], enqueue)

    def insert_tx(
        self, connection: Any, args: JobArgs, insert_opts: InsertOpts | None = None, **opts: Any
    ) -> InsertResult:
        """Insert one job inside the open transaction of `connection`, which the caller commits."""
        rows = [self._params(args, options(InsertOpts, insert_opts, opts))]
        return self._insert_on(self.driver.adopt(connection), rows)[0]

    def insert_many_tx(self, connection: Any, jobs: Sequence[InsertManyParams]) -> list[InsertResult]:
        """Insert several jobs inside the open transaction of `connection`, which the caller commits."""
        rows = [self._params(job.args, job.insert_opts or _NO_OPTIONS) for job in jobs]
        return self._insert_on(self.driver.adopt(connection), _not_empty(rows))

    def insert_params(
        self, rows: Sequence[InsertParams], *, enqueue: Enqueue = "ambient"
    ) -> list[InsertResult]:
        """Insert rows that an adapter has put together; the JSON in them is taken as it is."""
        for row in rows:
            check_params(row, self._defaults.lenient_queue_names)
            self._check_known(row)
        return self._insert(rows, enqueue)

    def row_to_insert(self, args: JobArgs, insert_opts: InsertOpts | None, now: datetime) -> InsertParams:
        """Return the checked row that an insert of this job would write; nothing is written.

        `now`, aware, decides the period of a unique job. Raises as `insert`.
        """
        params = insert_params(args, insert_opts or _NO_OPTIONS, self._defaults, now)
        self._check_known(params)
        return params

    def insert_rows_on(self, connection: Connection, rows: Sequence[InsertParams]) -> list[InsertResult]:
        """Write checked rows in the open transaction of one of the driver's connections."""
        return self._insert_on(connection, _not_empty(rows))

    def close(self) -> None:
        """Close the driver's connections; harmless twice."""
        self.driver.close()

    def _params(self, args: JobArgs, opts: InsertOpts) -> InsertParams:
        return self.row_to_insert(args, opts, self._clock.now())

    def _check_known(self, row: InsertParams) -> None:
        if self._registry is not None and self._registry.get(row.kind) is None:
            raise UnknownJobKindError(row.kind)
        if self._defaults.lenient_queue_names and row.queue not in self._warned_queues:
            self._warn_once(row.queue)

    def _warn_once(self, queue: str) -> None:
        self._warned_queues.add(queue)
        if not validation.is_portable_queue(queue):
            logger.warning("River's other clients refuse this name of a queue", extra={"queue": queue})

    def _insert(self, rows: Sequence[InsertParams], enqueue: Enqueue) -> list[InsertResult]:
        _not_empty(rows)
        adopted = self._ambient(enqueue)
        if adopted is not None:
            return self._insert_on(adopted, rows)
        if self._plugins is not None and self._plugins.any:
            return self._insert_with_plugins(rows, self._plugins)
        rows = self._stamped(rows)
        notified = self.limiter.allowed(rows)
        try:
            with self.driver.connect() as connection:
                results = insert_many(connection, self.driver.sql, rows, notified)
        except BaseException:
            self.limiter.forget(notified)
            raise
        self._announce_later(available_queues(rows), notified)
        return results

    def _announce_later(self, queues: Iterable[str], notified: Collection[str]) -> None:
        if self._trailing is not None:
            self._trailing.hold(queue for queue in queues if queue not in notified)

    @property
    def clock(self) -> Clock:
        """The clock of this client."""
        return self._clock

    def flush_notifications(self) -> None:
        """Tell the workers now of all jobs that were inserted; for a caller that waits for a result."""
        if self._trailing is not None:
            self._trailing.flush()

    def _insert_on(self, adopted: Connection, rows: Sequence[InsertParams]) -> list[InsertResult]:
        """Insert on a borrowed connection. When it commits nobody knows, so the limiter is left out."""
        if self._plugins is not None and self._plugins.any:
            return self._with_plugins(adopted, rows, available_queues, self._plugins)
        rows = self._stamped(rows)
        return insert_many(adopted, self.driver.sql, rows, available_queues(rows))

    def _insert_with_plugins(self, rows: Sequence[InsertParams], plugins: PluginSet) -> list[InsertResult]:
        available: list[str] = []
        notified: list[str] = []

        def allowed(last: Sequence[InsertParams]) -> list[str]:
            available.extend(available_queues(last))
            notified.extend(self.limiter.allowed(last))
            return notified

        try:
            with self.driver.connect() as own, own.transaction():
                results = self._with_plugins(own, rows, allowed, plugins)
        except BaseException:
            self.limiter.forget(notified)
            raise
        self._announce_later(available, notified)
        return results

    def _with_plugins(
        self,
        connection: Connection,
        rows: Sequence[InsertParams],
        notify: Callable[[Sequence[InsertParams]], list[str]],
        plugins: PluginSet,
    ) -> list[InsertResult]:
        """Insert in the connection's transaction, which is also that of whatever the plugins insert."""

        def write(last: Sequence[InsertParams]) -> list[InsertResult]:
            last = self._stamped(last)
            return insert_many(connection, self.driver.sql, last, notify(last))

        with join(connection.raw):
            return insert_with_plugins(plugins, rows, self._defaults.lenient_queue_names, write)

    def _stamped(self, rows: Sequence[InsertParams]) -> Sequence[InsertParams]:
        """Give rows the time of a clock that a test set; otherwise the database's own clock counts."""
        if not self._fixed_time:
            return rows
        now = self._clock.now()
        return [
            replace(row, created_at=row.created_at or now, scheduled_at=row.scheduled_at or now)
            for row in rows
        ]

    def _ambient(self, enqueue: Enqueue) -> Connection | None:
        if enqueue == "own":
            return None
        if enqueue != "ambient":
            raise ValidationError(f"enqueue must be 'ambient' or 'own', not {enqueue!r}")
        return self.driver.ambient()


def _not_empty(rows: Sequence[InsertParams]) -> Sequence[InsertParams]:
    if not rows:
        raise ValidationError("no jobs to insert")
    return rows
