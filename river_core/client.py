"""The client: inserts jobs and acts on stored jobs and queues. It works none; that is the worker's.

Inserts are here, what is done with stored jobs in `client_jobs`, with queues in `client_queues`.

Every call runs in the transaction of the connection given to `river_core.join`, where there is one,
else in one of its own. A client may be used from any thread and goes on after a fork.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from river_core.access import Access
from river_core.client_jobs import JobCalls
from river_core.client_leader import LeaderCalls
from river_core.client_queues import QueueCalls
from river_core.clock import Clock
from river_core.deferring import ids_of
from river_core.drivers.base import Connection, Driver
from river_core.insert import (
    MAX_ATTEMPTS_DEFAULT,
    QUEUE_DEFAULT,
    InsertManyParams,
    InsertOpts,
    InsertParams,
    InsertResult,
)
from river_core.insert_options import InsertDefaults
from river_core.inserter import Enqueue as Enqueue
from river_core.inserter import InsertContext, Inserter
from river_core.inserting import InsertNotifyLimiter
from river_core.parity import Parity, attempts_check, checked_parity
from river_core.plugins import PluginSet
from river_core.row_builder import RowBuilder, not_empty
from river_core.task import Registry
from river_core.trailing import TrailingNotifications


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
        notify_inserts: bool = True,
        durable_inserts: bool = True,
        trailing: TrailingNotifications | None = None,
        plugins: Iterable[object] = (),
        parity: str = Parity.PYTHON,
    ) -> None:
        """Take the defaults of all inserts; raises ConfigurationError for one that River refuses.

        With a `registry`, kinds that it does not know are refused. `lenient_queue_names` takes any name
        that the database does and warns once about one that River's other clients refuse. A `limiter`
        may be shared with others that insert in this process; `trailing` announces a moment later what
        the limiter holds back, else the workers' poll finds it. `notify_inserts` False tells nobody, so that
        commits never wait for each other's notifications. `durable_inserts` False lets commits of our own on
        Postgres not wait for the disk: a crash of the server may lose what was inserted in its last 0.6 s.
        `plugins` see every insert.
        """
        self.driver = driver
        self.limiter = limiter or InsertNotifyLimiter(silent=not notify_inserts)
        self._trailing = None if self.limiter.silent else trailing
        rules = checked_parity(parity)
        check_attempts = attempts_check(rules, driver.sql.dialect)
        defaults = InsertDefaults(queue, max_attempts, lenient_queue_names, check_attempts)
        self._rows = RowBuilder(defaults, None if skip_unknown_job_check else registry, clock)
        given = PluginSet(plugins, registry)
        used = given if given.plugins or registry is not None else None
        context = InsertContext(
            driver, self._rows, self.limiter, self._trailing, used, lenient_queue_names, durable_inserts
        )
        self._inserter = Inserter(context)
        self._fast_inserter = Inserter(context, fast=True)
        self._id_inserter = Inserter(context, only_ids=True)
        self._access = Access(driver, self._rows.clock, rules)

    def insert(
        self,
        args: Any,
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
        return self._inserter.insert(self._rows.one(args, insert_opts, opts), enqueue)[0]

    def insert_many(
        self, jobs: Sequence[InsertManyParams], *, enqueue: Enqueue = "ambient"
    ) -> list[InsertResult]:
        """Insert several jobs, all or none; returns one result for each, in order. Raises as `insert`."""
        return list(self._inserter.insert(self._rows.many(jobs), enqueue))

    def insert_tx(
        self, connection: Any, args: Any, insert_opts: InsertOpts | None = None, **opts: Any
    ) -> InsertResult:
        """Insert one job inside the open transaction of `connection`, which the caller commits."""
        return self._inserter.insert_tx(connection, self._rows.one(args, insert_opts, opts))[0]

    def insert_many_tx(self, connection: Any, jobs: Sequence[InsertManyParams]) -> list[InsertResult]:
        """Insert several jobs inside the open transaction of `connection`, which the caller commits."""
        return list(self._inserter.insert_tx(connection, self._rows.many(jobs)))

    def insert_many_fast(self, jobs: Sequence[InsertManyParams], *, enqueue: Enqueue = "ambient") -> int:
        """Insert many jobs without reading them back, and return their number (River: InsertManyFast).

        On Postgres by COPY, on other databases and libraries by an ordinary insert; all or none. Raises
        UniqueConflictError where another job holds the unique key of one of them, else as `insert`.
        Plugins see it as any insert, but there is no `insert_end`, and results have the id 0.
        """
        return len(self._fast_inserter.insert(self._rows.many(jobs), enqueue))

    def insert_many_fast_tx(self, connection: Any, jobs: Sequence[InsertManyParams]) -> int:
        """Do the same inside the open transaction of `connection` (River: InsertManyFastTx).

        On Postgres that transaction can only be rolled back after a UniqueConflictError.
        """
        return len(self._fast_inserter.insert_tx(connection, self._rows.many(jobs)))

    def insert_params(
        self, rows: Sequence[InsertParams], *, enqueue: Enqueue = "ambient"
    ) -> list[InsertResult]:
        """Insert rows that an adapter has put together; the JSON in them is taken as it is."""
        return list(self._inserter.insert(self._rows.checked(rows), enqueue))

    def insert_for_ids(self, rows: Sequence[InsertParams], *, enqueue: Enqueue = "ambient") -> list[int]:
        """Do as `insert_params`, and return the rows' ids alone: 0 for a row that is written later.

        Rows that differ in their arguments alone, as members of a group do, take less than half the time.
        """
        return ids_of(self._id_inserter.insert(self._rows.checked(rows), enqueue))

    def insert_while_made(self, chunks: Iterator[Sequence[InsertParams]]) -> list[int] | None:
        """Insert rows in one transaction of our own, taking the next while the server writes those before.

        None, with nothing written, where the connection cannot do that, plugins want to see the rows, or some
        differ in more than their arguments; `chunks`, none of them empty, goes on behind what was taken.
        Raises as `insert`, and what `chunks` raises; nothing is written then.
        """
        return self._id_inserter.insert_while_made(chunks)

    def row_to_insert(self, args: Any, insert_opts: InsertOpts | None, now: datetime) -> InsertParams:
        """Return the checked row that an insert of this job would write; nothing is written.

        `now`, aware, decides the period of a unique job. Raises as `insert`.
        """
        return self._rows.row(args, insert_opts, now)

    def insert_rows_on(self, connection: Connection, rows: Sequence[InsertParams]) -> list[InsertResult]:
        """Write checked rows in the open transaction of one of the driver's connections."""
        return list(self._inserter.insert_on(connection, not_empty(list(rows))))

    def close(self) -> None:
        """Close the driver's connections; harmless twice."""
        self.driver.close()

    @property
    def clock(self) -> Clock:
        """The clock of this client."""
        return self._rows.clock

    def flush_notifications(self) -> None:
        """Tell the workers now of all jobs that were inserted; for a caller that waits for a result.

        What such a caller inserts next is told with the insert, as far as a second from now.
        """
        if self._trailing is not None:
            self.limiter.hurry(self._trailing.flush())
