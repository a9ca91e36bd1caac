"""The client: inserts jobs and acts on stored jobs and queues. It works none; that is the worker's.

Every call runs in the transaction of the connection given to `river_core.join`, where there is one,
else in one of its own. A client may be used from any thread and goes on after a fork.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from river_core import validation
from river_core.clock import Clock, SystemClock
from river_core.db import jobs, notifications, queues
from river_core.db.queues import ALL_QUEUES, QueueRow
from river_core.db.statement import Statement
from river_core.drivers.base import Connection, Driver
from river_core.errors import (
    ConfigurationError,
    JobRunningError,
    NotFoundError,
    RejectedValueError,
    UniqueConflictError,
    UnknownJobKindError,
    ValidationError,
)
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
from river_core.inserting import InsertNotifyLimiter, available_queues, insert_many
from river_core.job import JobRow, JobState, rfc3339
from river_core.task import Registry
from river_core.trailing import TrailingNotifications

Enqueue = Literal["ambient", "own"]

QUEUE_LIST_LIMITS = range(1, 10_001)
_NO_OPTIONS = InsertOpts()

logger = logging.getLogger(__name__)


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
        self._clock = clock or SystemClock()
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
        return self._insert([self._params(args, _options(insert_opts, opts))], enqueue)[0]

    def insert_many(
        self, jobs: Sequence[InsertManyParams], *, enqueue: Enqueue = "ambient"
    ) -> list[InsertResult]:
        """Insert several jobs, all or none; returns one result for each, in order. Raises as `insert`."""
        return self._insert([self._params(job.args, job.insert_opts or _NO_OPTIONS) for job in jobs], enqueue)

    def insert_tx(
        self, connection: Any, args: JobArgs, insert_opts: InsertOpts | None = None, **opts: Any
    ) -> InsertResult:
        """Insert one job inside the open transaction of `connection`, which the caller commits."""
        rows = [self._params(args, _options(insert_opts, opts))]
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

    def job_get(self, job_id: int) -> JobRow:
        """Return a stored job; raises NotFoundError."""
        with self._connection() as connection:
            return self._get(connection, job_id)

    def job_cancel(self, job_id: int) -> JobRow:
        """Cancel a job; one that runs is asked to stop, a finished one stays (River: JobCancel)."""
        mark = rfc3339(self._clock.now())
        statement = jobs.job_cancel(self.driver.sql, _id(job_id), mark, self._now())
        with self._connection() as connection, connection.transaction():
            row = self._fetch_job(connection, statement)
            if row is None:
                raise _not_found(job_id)
            if row.metadata.get("cancel_attempted_at") == mark:
                payload = notifications.cancel_payload(row.id, row.queue)
                self._notify(connection, notifications.TOPIC_CONTROL, payload)
        return row

    def job_retry(self, job_id: int) -> JobRow:
        """Make a job available now, with an attempt left; one that runs or is due stays (River: JobRetry).

        Raises NotFoundError, UniqueConflictError where another job holds its unique key by now, and
        ValidationError where the last possible attempt is spent.
        """
        statement = jobs.job_retry(self.driver.sql, _id(job_id), self._now())
        with self._connection() as connection, connection.transaction():
            try:
                row = self._fetch_job(connection, statement)
            except RejectedValueError as error:
                raise UniqueConflictError(job_id) from error
            if row is None:
                return self._unretried(self._get(connection, job_id))
            self._notify(connection, notifications.TOPIC_INSERT, notifications.insert_payload(row.queue))
        return row

    def job_delete(self, job_id: int) -> JobRow:
        """Delete a job and return it; raises NotFoundError, or JobRunningError while it runs."""
        with self._connection() as connection, connection.transaction():
            row = self._fetch_job(connection, jobs.job_delete(self.driver.sql, _id(job_id)))
            if row is None:
                self._get(connection, job_id)
                raise JobRunningError(f"job {job_id} is running and cannot be deleted; cancel it first")
        return row

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

    def _params(self, args: JobArgs, opts: InsertOpts) -> InsertParams:
        params = insert_params(args, opts, self._defaults, self._clock.now())
        self._check_known(params)
        return params

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
        rows = self._stamped(rows)
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
        rows = self._stamped(rows)
        return insert_many(adopted, self.driver.sql, rows, available_queues(rows))

    def _stamped(self, rows: Sequence[InsertParams]) -> Sequence[InsertParams]:
        """Give rows the time of a clock that a test set; otherwise the database's own clock counts."""
        if not self._fixed_time:
            return rows
        now = self._clock.now()
        return [
            replace(row, created_at=row.created_at or now, scheduled_at=row.scheduled_at or now)
            for row in rows
        ]

    def _now(self) -> datetime | None:
        return self._clock.now() if self._fixed_time else None

    def _ambient(self, enqueue: Enqueue) -> Connection | None:
        if enqueue == "own":
            return None
        if enqueue != "ambient":
            raise ValidationError(f"enqueue must be 'ambient' or 'own', not {enqueue!r}")
        return self.driver.ambient()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        adopted = self.driver.ambient()
        if adopted is not None:
            yield adopted
            return
        with self.driver.connect() as own:
            yield own

    def _fetch_job(self, connection: Connection, statement: Statement) -> JobRow | None:
        rows = connection.fetch(statement)
        return jobs.decode_job(self.driver.sql, rows[0]) if rows else None

    def _get(self, connection: Connection, job_id: int) -> JobRow:
        row = self._fetch_job(connection, jobs.job_get_by_id(self.driver.sql, _id(job_id)))
        if row is None:
            raise _not_found(job_id)
        return row

    def _unretried(self, row: JobRow) -> JobRow:
        if row.attempt >= validation.MAX_ATTEMPTS and row.state not in (JobState.RUNNING, JobState.AVAILABLE):
            raise ValidationError(
                f"job {row.id} cannot be retried: its attempt {row.attempt} is the last there can be"
            )
        return row

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


def _options(given: InsertOpts | None, keywords: dict[str, Any]) -> InsertOpts:
    if given is None and not keywords:
        return _NO_OPTIONS
    if given is not None and keywords:
        raise ValidationError(
            f"give options as InsertOpts or as keywords, not both: {', '.join(sorted(keywords))}"
        )
    if given is not None:
        return given
    unknown = sorted(keywords.keys() - InsertOpts.__dataclass_fields__.keys())
    if unknown:
        known = ", ".join(InsertOpts.__dataclass_fields__)
        raise ValidationError(f"insert takes no option {', '.join(unknown)}; the options are {known}")
    return InsertOpts(**keywords)


def _not_empty(rows: Sequence[InsertParams]) -> Sequence[InsertParams]:
    if not rows:
        raise ValidationError("no jobs to insert")
    return rows


def _id(job_id: int) -> int:
    if isinstance(job_id, bool) or not isinstance(job_id, int):
        raise ValidationError(f"a job's id is a whole number, not {job_id!r}")
    if not 0 < job_id < 2**63:
        raise _not_found(job_id)
    return job_id


def _not_found(job_id: int) -> NotFoundError:
    return NotFoundError(f"there is no job {job_id}")
