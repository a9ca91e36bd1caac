"""The client: inserts jobs and acts on stored jobs and queues. It works none; that is the worker's.

Every call runs in the transaction of the connection given to `river_core.join`, where there is one,
else in one of its own. A client may be used from any thread and goes on after a fork.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal

from river_core import steps
from river_core.ambient import joined
from river_core.clock import Clock
from river_core.db import notifications, queues
from river_core.db.queues import ALL_QUEUES, QueueRow
from river_core.db.statement import Statement
from river_core.deferring import Deferring, deferred_results
from river_core.drivers.base import Connection, Driver
from river_core.errors import AwaitedTransactionError, NotFoundError, OtherDatabaseError, ValidationError
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
from river_core.inserting import InsertNotifyLimiter, available_queues, insert_many
from river_core.job import JobRow
from river_core.row_builder import RowBuilder
from river_core.steps import Steps, run
from river_core.task import Registry
from river_core.trailing import TrailingNotifications

Enqueue = Literal["ambient", "own", "after_commit"]

QUEUE_LIST_LIMITS = range(1, 10_001)


class Client:
    """Inserts jobs, and reads, cancels, retries and deletes them (River: Client).

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
    ) -> None:
        """Take the defaults of all inserts; raises ConfigurationError for one that River refuses.

        With a `registry`, kinds that it does not know are refused. `lenient_queue_names` takes any name
        that the database does and warns once about one that River's other clients refuse. A `limiter`
        may be shared with others that insert in this process; `trailing` announces a moment later what
        the limiter holds back, else the workers' poll finds it.
        """
        self.driver = driver
        self.limiter = limiter or InsertNotifyLimiter()
        self._trailing = trailing
        defaults = InsertDefaults(queue, max_attempts, lenient_queue_names)
        self._rows = RowBuilder(defaults, None if skip_unknown_job_check else registry, clock)
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

    def job_get(self, job_id: int) -> JobRow:
        """Return a stored job; raises NotFoundError."""
        with self._connection() as connection:
            return run(connection, steps.job_get(self.driver.sql, job_id))

    def job_cancel(self, job_id: int) -> JobRow:
        """Cancel a job; one that runs is asked to stop, a finished one stays (River: JobCancel)."""
        now = self._rows.clock.now()
        return self._run(steps.job_cancel(self.driver.sql, job_id, now, self._now()))

    def job_retry(self, job_id: int) -> JobRow:
        """Make a job available now, with an attempt left; one that runs or is due stays (River: JobRetry).

        Raises NotFoundError, UniqueConflictError where another job holds its unique key by now, and
        ValidationError where the last possible attempt is spent.
        """
        return self._run(steps.job_retry(self.driver.sql, job_id, self._now()))

    def job_delete(self, job_id: int) -> JobRow:
        """Delete a job and return it; raises NotFoundError, or JobRunningError while it runs."""
        return self._run(steps.job_delete(self.driver.sql, job_id))

    def queue_get(self, name: str) -> QueueRow:
        """Return a queue that some worker has worked; raises NotFoundError."""
        with self._connection() as connection:
            return self._queues(connection, queues.queue_get(self.driver.sql, name), name)[0]

    def queue_list(self, limit: int = 100) -> list[QueueRow]:
        """Return up to `limit` queues, 1 to 10,000, by name."""
        if limit not in QUEUE_LIST_LIMITS:
            raise ValidationError(f"limit must be from 1 to {QUEUE_LIST_LIMITS.stop - 1}, not {limit!r}")
        with self._connection() as connection:
            return self._queues(connection, queues.queue_list(self.driver.sql, limit), ALL_QUEUES)

    def queue_pause(self, name: str) -> None:
        """Stop the work of a queue, or of all for `*`, on every worker; raises NotFoundError."""
        statement = queues.queue_pause(self.driver.sql, name, self._now())
        self._change_queues(statement, name, notifications.pause_payload(name))

    def queue_resume(self, name: str) -> None:
        """Take up the work of a queue, or of all for `*`, again; raises NotFoundError."""
        statement = queues.queue_resume(self.driver.sql, name, self._now())
        self._change_queues(statement, name, notifications.resume_payload(name))

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
        rows = self._rows.stamped(rows)
        notified = self.limiter.allowed(rows)
        try:
            with self.driver.connect() as connection:
                results = insert_many(connection, self.driver.sql, rows, notified)
        except BaseException:
            self.limiter.forget(notified)
            raise
        if self._trailing is not None:
            self._trailing.hold(queue for queue in available_queues(rows) if queue not in notified)
        return results

    def flush_notifications(self) -> None:
        """Tell the workers now of all jobs that were inserted; for a caller that waits for a result."""
        if self._trailing is not None:
            self._trailing.flush()

    def _insert_on(self, adopted: Connection, rows: Sequence[InsertParams]) -> list[InsertResult]:
        """Insert on a borrowed connection. When it commits nobody knows, so the limiter is left out."""
        rows = self._rows.stamped(rows)
        return insert_many(adopted, self.driver.sql, rows, available_queues(rows))

    def _now(self) -> datetime | None:
        return self._rows.now()

    def _ambient(self, enqueue: Enqueue) -> Connection | None:
        if enqueue == "own":
            return None
        if enqueue != "ambient":
            raise ValidationError(f"enqueue must be 'ambient', 'own' or 'after_commit', not {enqueue!r}")
        return self.driver.ambient()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        adopted = self._ambient_or_none()
        if adopted is not None:
            yield adopted
            return
        with self.driver.connect() as own:
            yield own

    def _ambient_or_none(self) -> Connection | None:
        """Take no notice of a watched transaction that is on another database."""
        try:
            return self.driver.ambient()
        except OtherDatabaseError:
            if joined() is not None:
                raise
            return None

    def _run(self, job_steps: Steps[JobRow]) -> JobRow:
        with self._connection() as connection, connection.transaction():
            return run(connection, job_steps)

    def _queues(self, connection: Connection, statement: Statement, name: str) -> list[QueueRow]:
        rows = connection.fetch(statement)
        if not rows and name != ALL_QUEUES:
            raise NotFoundError(f"no queue {name!r} is known; a queue is known once a worker has worked it")
        return [queues.decode_queue(row) for row in rows]

    def _change_queues(self, statement: Statement, name: str, payload: str) -> None:
        with self._connection() as connection, connection.transaction():
            self._queues(connection, statement, name)
            self._notify(connection, notifications.TOPIC_CONTROL, payload)

    def _notify(self, connection: Connection, topic: str, payload: str) -> None:
        connection.fetch(notifications.notify_many(self.driver.sql, topic, [payload]))
