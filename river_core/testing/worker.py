"""A worker for tests: it works jobs in the calling thread, inside the test's own transaction."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from river_core.client import Client
from river_core.clock import given_time
from river_core.db import jobs, work
from river_core.db import testing as statements
from river_core.db.statement import Sql
from river_core.drivers.base import Connection, Row
from river_core.errors import ValidationError
from river_core.insert import InsertOpts, InsertParams, InsertResult, JobArgs
from river_core.job import JobRow
from river_core.keywords import options
from river_core.plugins import Plugin
from river_core.task import Registry
from river_core.testing import describe
from river_core.testing.attempt import Attempt
from river_core.testing.bound import bound
from river_core.testing.reach import required_driver
from river_core.testing.result import WorkResult
from river_core.worker.config import WorkerConfig
from river_core.worker.identity import POLL_ONLY, client_id, marked_id
from river_core.worker.worker import Worker

DRAIN_LIMIT = 100


class NoUniqueness(Plugin):
    """Takes the unique key from every job, so that tests can insert the same job in parallel."""

    def insert_begin(self, params: InsertParams) -> InsertParams | None:
        """Return the job without its key, if it has one."""
        return None if params.unique_key is None else replace(params, unique_key=None, unique_states=None)


class TestWorker:
    """Works jobs of a registry for a test (River: rivertest.Worker).

    `tx` is in all calls the connection whose transaction everything belongs to: the inserts, the claim, what
    the job inserts by `job.client` or any other client, and its outcome. None stands for the joined or
    watched transaction or that of the Django alias; where none is open, each statement commits by itself.
    Jobs are worked by the executor of a real worker, with its plugins, time-outs and retry policies, and
    unique options do not count.

    >>> worker = TestWorker(driver, Registry().add("greet", greet))  # doctest: +SKIP
    >>> worker.work(connection, EncodedArgs("greet", "{}")).require("completed")  # doctest: +SKIP
    """

    __test__ = False

    def __init__(
        self, driver: Any, registry: Registry, config: WorkerConfig | None = None, /, **fields: Any
    ) -> None:
        """Take a driver, or a client for its driver, the tasks, and the options of `WorkerConfig`.

        Raises ConfigurationError for a wrong one. `queues` may be left out.
        """
        self.driver = required_driver(driver)
        self.registry = registry
        if config is None:
            fields.setdefault("queues", {"default": 1})
        self.config = options(WorkerConfig, config, fields)
        name = self.config.id
        self.id = (
            marked_id(name, POLL_ONLY)
            if name
            else client_id(socket.gethostname(), self.config.clock.now(), POLL_ONLY)
        )

    @classmethod
    def of(cls, worker: Worker, **changes: Any) -> TestWorker:
        """Return a test worker with the driver, tasks and options of a worker, which need not be started.

        `changes` are options of `WorkerConfig` to be others in the test, as `clock`.
        """
        return cls(worker.driver, worker.registry, replace(worker.config, **changes))

    def work(
        self, tx: Any, args: JobArgs, insert_opts: InsertOpts | None = None, /, **opts: Any
    ) -> WorkResult:
        """Insert a job and work it, whenever it is due (River: Worker.Work).

        Raises as `Client.insert`, and AssertionError as `work_job`. What the task raises is in the result.
        """
        __tracebackhide__ = True
        with self._client(tx) as client:
            return self._work(client, client.insert(args, insert_opts, **opts).job.id)

    def work_job(self, tx: Any, job: JobRow | InsertResult | int) -> WorkResult:
        """Work a stored job, given by its row or id, whenever it is due (River: Worker.WorkJob).

        Raises AssertionError where the transaction sees no such job, where it runs or is final, and where
        it was gone when the attempt ended.
        """
        __tracebackhide__ = True
        row = job.job if isinstance(job, InsertResult) else job
        with self._client(tx) as client:
            return self._work(client, row.id if isinstance(row, JobRow) else row)

    def drain(self, tx: Any, *, queue: str | None = None, limit: int = DRAIN_LIMIT) -> list[WorkResult]:
        """Work all due jobs, of one queue or of all, those that jobs insert included; return the results.

        In order of priority, scheduled time and id, at most `limit` attempts; of known kinds alone where the
        worker has `fetch_only_known_kinds`. Nothing is waited for: jobs of the future stay, unless a stub
        clock is moved on. Raises AssertionError when more are due than that.
        """
        __tracebackhide__ = True
        if limit < 1:
            raise ValidationError(f"limit must be at least 1, not {limit!r}")
        results: list[WorkResult] = []
        with self._client(tx) as client:
            while (job_id := self._next(client, queue)) is not None:
                if len(results) == limit:
                    raise _limit_reached(client.job_get(job_id), results)
                results.append(self._work(client, job_id))
        return results

    @contextmanager
    def _client(self, tx: Any) -> Iterator[Client]:
        config = self.config
        with bound(self.driver, tx) as driver:
            plugins = (*config.plugins, NoUniqueness())
            yield Client(driver, registry=self.registry, clock=config.clock, plugins=plugins)

    def _work(self, client: Client, job_id: int) -> WorkResult:
        __tracebackhide__ = True
        with client.driver.connect() as connection:
            row = self._start(client, connection, job_id)
        return Attempt(client.driver, self.registry, self.config, client, self.id).work(row)

    def _start(self, client: Client, connection: Connection, job_id: int) -> JobRow:
        __tracebackhide__ = True
        sql = client.driver.sql
        now = given_time(client.clock)
        with connection.transaction():
            claimed = work.decode_claim(
                sql, connection.fetch(statements.job_start(sql, job_id, self.id, now))
            )
        if claimed.rows:
            return claimed.rows[0]
        raise _not_startable(sql, job_id, connection.fetch(jobs.job_get_by_id(sql, job_id)))

    def _next(self, client: Client, queue: str | None) -> int | None:
        sql, at, now = client.driver.sql, client.clock.now(), given_time(client.clock)
        kinds = self.registry.kinds() if self.config.fetch_only_known_kinds else None
        with client.driver.connect() as connection:
            found = connection.fetch(statements.job_next_to_work(sql, queue, kinds, at, now))
        return int(found[0][0]) if found else None


def _not_startable(sql: Sql, job_id: int, found: Sequence[Row]) -> AssertionError:
    if found:
        stored = describe.row(jobs.decode_job(sql, found[0]))
        return describe.failure("only a job that neither runs nor is final can be worked", stored)
    return describe.failure(
        f"job {job_id} is not in the database that the transaction of the test sees",
        "insert it in that transaction, by `work`, `Client.insert_tx` or inside `river_core.join`; a job "
        "that was inserted on another connection is seen once it is committed",
    )


def _limit_reached(next_job: JobRow, results: Sequence[WorkResult]) -> AssertionError:
    return describe.failure(
        f"after {len(results)} attempts, the limit, there are still jobs due",
        f"the next one: {describe.row(next_job)}",
        "the last ones:",
        *(describe.row(result.job) for result in results[-3:]),
        "a job that inserts itself again never ends; otherwise give a higher limit",
    )
