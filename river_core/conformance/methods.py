"""The 14 methods of the contract, as calls of our own client, migrator and worker."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from river_core.conformance import params as p
from river_core.conformance.barriers import Barriers
from river_core.conformance.database import Database
from river_core.conformance.decoding import decode
from river_core.conformance.failures import METHOD_NOT_FOUND, CodedError, rejected
from river_core.conformance.normal import normal_job
from river_core.conformance.requests import insert_params, list_params
from river_core.conformance.running import Running
from river_core.errors import RiverError
from river_core.migrate import Migrator

IMPLEMENTATION = "python"
DISTRIBUTION = "river-compat"


class Methods:
    """Answers requests one after the other; keeps the running worker, barriers and transactions."""

    def __init__(self, database: Database) -> None:
        """Work on `database`."""
        self._database = database
        self._barriers = Barriers()
        self._running: Running | None = None
        self._methods: dict[str, tuple[type[Any], Callable[[Any], Any]]] = {
            "cancel": (p.OneJob, self._cancel),
            "handshake": (p.NoParams, self._handshake),
            "insert": (p.Insert, self._insert),
            "list": (p.ListJobs, self._list),
            "migrate": (p.Migrate, self._migrate),
            "queue": (p.Queue, self._queue),
            "release": (p.Release, self._release),
            "request_resign": (p.RequestResign, self._request_resign),
            "retry": (p.OneJob, self._retry),
            "start": (p.Start, self._start),
            "stats": (p.NoParams, self._stats),
            "stop": (p.Stop, self._stop),
            "tx_begin": (p.TxBegin, self._tx_begin),
            "tx_end": (p.TxEnd, self._tx_end),
        }

    def call(self, method: str, params: Any) -> Any:
        """Run a method and return its result, None for an empty one; raises CodedError or RiverError."""
        if method not in self._methods:
            raise CodedError(METHOD_NOT_FOUND, f"unknown method {method!r}")
        kind, run = self._methods[method]
        return run(decode(kind, params))

    def shutdown(self) -> None:
        """Roll back what is open, then stop the worker, its jobs cancelled.

        In this order, because an open transaction may hold SQLite's one write lock, which the worker needs.
        """
        self._database.roll_back_all()
        with suppress(RiverError, CodedError):
            if self._running is not None:
                self._running.stop(cancel=True)
        self._database.close()

    def _handshake(self, _params: p.NoParams) -> dict[str, Any]:
        return {
            "driver": self._database.dialect.value,
            "implementation": IMPLEMENTATION,
            "version": version(DISTRIBUTION),
        }

    # -- the schema

    def _migrate(self, params: p.Migrate) -> dict[str, Any]:
        migrator = Migrator(self._database.driver(params.schema))
        move = migrator.migrate_up if params.direction is p.MigrateDirection.UP else migrator.migrate_down
        try:
            moved = move(params.target_version or None)
        finally:
            self._database.forget_plans()
        return {"versions": [version.version for version in moved.versions]}

    # -- jobs and queues

    def _insert(self, params: p.Insert) -> dict[str, Any]:
        client = self._database.client(params.schema)
        with self._database.within(params.tx):
            results = client.insert_many([insert_params(job) for job in params.jobs])
        return {
            "results": [
                {
                    "job": normal_job(result.job),
                    "unique_skipped_as_duplicate": result.unique_skipped_as_duplicate,
                }
                for result in results
            ]
        }

    def _cancel(self, params: p.OneJob) -> dict[str, Any]:
        client = self._database.client(params.schema)
        with self._database.within(params.tx):
            return normal_job(client.job_cancel(params.id))

    def _retry(self, params: p.OneJob) -> dict[str, Any]:
        client = self._database.client(params.schema)
        with self._database.within(params.tx):
            return normal_job(client.job_retry(params.id))

    def _list(self, params: p.ListJobs) -> dict[str, Any]:
        client = self._database.client(params.schema)
        with self._database.within(params.tx):
            page = client.job_list(list_params(params))
        return {"cursor": page.last_cursor, "jobs": [normal_job(row) for row in page.jobs]}

    def _queue(self, params: p.Queue) -> None:
        client = self._database.client(params.schema)
        with self._database.within(params.tx):
            match params.action:
                case p.QueueAction.PAUSE:
                    client.queue_pause(params.name)
                case p.QueueAction.RESUME:
                    client.queue_resume(params.name)
                case p.QueueAction.UPDATE:
                    client.queue_update(params.name, metadata=params.metadata)

    def _request_resign(self, params: p.RequestResign) -> None:
        client = self._database.client(params.schema)
        with self._database.within(params.tx):
            client.request_resign()

    # -- transactions and barriers

    def _tx_begin(self, params: p.TxBegin) -> None:
        self._database.begin(params.tx)

    def _tx_end(self, params: p.TxEnd) -> None:
        self._database.end(params.tx, params.commit)

    def _release(self, params: p.Release) -> None:
        self._barriers.release(params.name)

    # -- the worker

    def _start(self, params: p.Start) -> None:
        if self._running is not None:
            raise rejected("a client is running already")
        self._running = Running(self._database.driver(params.schema), params, self._barriers)

    def _started(self) -> Running:
        if self._running is None:
            raise rejected("no client is running")
        return self._running

    def _stats(self, _params: p.NoParams) -> dict[str, Any]:
        return self._started().observed.snapshot()

    def _stop(self, params: p.Stop) -> None:
        running, self._running = self._started(), None
        running.stop(params.cancel)
