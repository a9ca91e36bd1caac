"""The client: inserts jobs and acts on stored jobs and queues. It works none; that is the worker's.

Inserts are here, what is done with stored jobs in `client_jobs`, with queues in `client_queues`.

Every call runs in the transaction of the connection given to `river_core.join`, where there is one,
else in one of its own. A client may be used from any thread and goes on after a fork.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Literal

from river_core.access import Access
from river_core.ambient import join, joined
from river_core.client_jobs import JobCalls
from river_core.client_leader import LeaderCalls
from river_core.client_queues import QueueCalls
from river_core.clock import Clock
from river_core.deferring import Deferring, deferred_results
from river_core.drivers.base import Connection, Driver
from river_core.errors import AwaitedTransactionError, OtherDatabaseError, ValidationError
from river_core.insert import (
    MAX_ATTEMPTS_DEFAULT,
    QUEUE_DEFAULT,
    InsertManyParams,
    InsertOpts,
    InsertParams,
    InsertResult,
    JobArgs,
)
from river_core.insert_options import InsertDefaults
from river_core.insert_plugins import insert_with_plugins
from river_core.inserting import InsertNotifyLimiter, available_queues, insert_many
from river_core.plugins import PluginSet
from river_core.row_builder import RowBuilder, not_empty
from river_core.task import Registry
from river_core.trailing import TrailingNotifications

Enqueue = Literal["ambient", "own", "after_commit"]


class Client(JobCalls, QueueCalls, LeaderCalls):
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
        self.driver = driver
        self.limiter = limiter or InsertNotifyLimiter()
        self._trailing = trailing
        defaults = InsertDefaults(queue, max_attempts, lenient_queue_names)
        self._rows = RowBuilder(defaults, None if skip_unknown_job_check else registry, clock)
        given = PluginSet(plugins, registry)
        self._plugins = given if given.plugins or registry is not None else None
        self._lenient_queue_names = lenient_queue_names
        self._access = Access(driver, self._rows.clock)
        self._deferring = Deferring(driver, self._insert_on, self._insert_own)

    def insert(
        self,
        args: JobArgs,
        insert_opts: InsertOpts | None = None,
        *,
        enqueue: Enqueue = "ambient",
        **opts: Any,
    ) -> InsertResult:
        """Insert one job, with options as an object or as keywords of the same names.

        `enqueue="own"` passes a joined or watched transaction by, `"after_commit"` inserts on our own
        connection once it is committed. Raises ValidationError, UnknownJobKindError,
        AmbientTransactionError or DatabaseError; nothing is written then. Where the row is written later
        (after a commit, or before that of an async session) the result's job has the id 0.
        """
        return self._insert(self._rows.one(args, insert_opts, opts), enqueue)[0]

    def insert_many(
        self, jobs: Sequence[InsertManyParams], *, enqueue: Enqueue = "ambient"
    ) -> list[InsertResult]:
        """Insert several jobs, all or none; returns one result for each, in order. Raises as `insert`."""
        return self._insert(self._rows.many(jobs), enqueue)

    def insert_tx(
        self, connection: Any, args: JobArgs, insert_opts: InsertOpts | None = None, **opts: Any
    ) -> InsertResult:
        """Insert one job inside the open transaction of `connection`, which the caller commits."""
        return self._insert_tx(connection, self._rows.one(args, insert_opts, opts))[0]

    def insert_many_tx(self, connection: Any, jobs: Sequence[InsertManyParams]) -> list[InsertResult]:
        """Insert several jobs inside the open transaction of `connection`, which the caller commits."""
        return self._insert_tx(connection, self._rows.many(jobs))

    def insert_params(
        self, rows: Sequence[InsertParams], *, enqueue: Enqueue = "ambient"
    ) -> list[InsertResult]:
        """Insert rows that an adapter has put together; the JSON in them is taken as it is."""
        return self._insert(self._rows.checked(rows), enqueue)

    def row_to_insert(self, args: JobArgs, insert_opts: InsertOpts | None, now: datetime) -> InsertParams:
        """Return the checked row that an insert of this job would write; nothing is written.

        `now`, aware, decides the period of a unique job. Raises as `insert`.
        """
        return self._rows.row(args, insert_opts, now)

    def insert_rows_on(self, connection: Connection, rows: Sequence[InsertParams]) -> list[InsertResult]:
        """Write checked rows in the open transaction of one of the driver's connections."""
        return self._insert_on(connection, not_empty(list(rows)))

    def close(self) -> None:
        """Close the driver's connections; harmless twice."""
        self.driver.close()

    def _insert(self, rows: Sequence[InsertParams], enqueue: Enqueue) -> list[InsertResult]:
        if enqueue == "after_commit":
            return self._insert_after_commit(rows)
        is_explicit = joined() is not None
        try:
            adopted = self._ambient(enqueue)
        except AwaitedTransactionError as error:
            self._deferring.before_commit(error.owner, rows, is_explicit)
            return self._deferred(rows)
        except OtherDatabaseError:
            if is_explicit:
                raise
            self._deferring.elsewhere(self.driver.open_transaction(), rows)
            return self._deferred(rows)
        return self._insert_own(rows) if adopted is None else self._insert_on(adopted, rows)

    def _insert_tx(self, connection: Any, rows: Sequence[InsertParams]) -> list[InsertResult]:
        try:
            adopted = self.driver.adopt(connection)
        except AwaitedTransactionError as error:
            self._deferring.before_commit(error.owner, rows, is_explicit=True)
            return self._deferred(rows)
        return self._insert_on(adopted, rows)

    def _insert_after_commit(self, rows: Sequence[InsertParams]) -> list[InsertResult]:
        owner = self.driver.open_transaction()
        if owner is None:
            return self._insert_own(rows)
        self._deferring.after_commit(owner, rows)
        return self._deferred(rows)

    def _deferred(self, rows: Sequence[InsertParams]) -> list[InsertResult]:
        return deferred_results(rows, self._rows.clock.now())

    def _insert_own(self, rows: Sequence[InsertParams]) -> list[InsertResult]:
        if self._plugins is not None and self._plugins.any:
            return self._insert_with_plugins(rows, self._plugins)
        rows = self._rows.stamped(rows)
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
        return self._rows.clock

    def flush_notifications(self) -> None:
        """Tell the workers now of all jobs that were inserted; for a caller that waits for a result."""
        if self._trailing is not None:
            self._trailing.flush()

    def _insert_on(self, adopted: Connection, rows: Sequence[InsertParams]) -> list[InsertResult]:
        """Insert on a borrowed connection. When it commits nobody knows, so the limiter is left out."""
        if self._plugins is not None and self._plugins.any:
            return self._with_plugins(adopted, rows, available_queues, self._plugins)
        rows = self._rows.stamped(rows)
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
            last = self._rows.stamped(last)
            return insert_many(connection, self.driver.sql, last, notify(last))

        with join(connection.raw):
            return insert_with_plugins(plugins, rows, self._lenient_queue_names, write)

    def _ambient(self, enqueue: Enqueue) -> Connection | None:
        if enqueue == "own":
            return None
        if enqueue != "ambient":
            raise ValidationError(f"enqueue must be 'ambient', 'own' or 'after_commit', not {enqueue!r}")
        return self.driver.ambient()
