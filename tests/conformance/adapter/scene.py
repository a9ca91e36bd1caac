"""Two adapters on one database, and what the tests do with them and with the rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from river_core.db.statement import Dialect, Statement
from river_core.drivers.base import Driver, Row
from tests.conformance.adapter.process import Adapter, AdapterError

DEADLINE = 60.0
LOOK = 0.02
FINAL = ("cancelled", "completed", "discarded")
FAST = {"elect_interval_ms": 20, "rescuer_interval_ms": 20, "scheduler_interval_ms": 20}
ECHO, PEER, RENAMED = "conformance_echo", "conformance_echo_peer", "conformance_echo_renamed"
MINUTE = 60_000


class Scene:
    """The database, two adapters that stand for two clients of one fleet, and a way to more of them."""

    def __init__(self, driver: Driver, open_adapter: Callable[[], Adapter]) -> None:
        self.driver = driver
        self._open = open_adapter
        self.first = open_adapter()
        self.second = open_adapter()
        self.is_postgres = driver.sql.dialect is Dialect.POSTGRES

    @contextmanager
    def third(self) -> Iterator[Adapter]:
        """One more adapter for the block; it may be killed in it."""
        adapter = self._open()
        try:
            yield adapter
        finally:
            adapter.close()

    def clear(self) -> None:
        """Stop what runs and leave the tables empty."""
        for adapter in (self.first, self.second):
            with suppress(AdapterError):
                adapter.call("stop", cancel=True)
        tables = [
            "river_job",
            "river_queue",
            "river_leader",
            *([] if self.is_postgres else ["river_notification"]),
        ]
        for table in tables:
            self.execute(f"DELETE FROM {table}")

    def close(self) -> None:
        """End the adapters."""
        for adapter in (self.first, self.second):
            assert adapter.end_input() == 0
            adapter.close()

    # -- requests

    @staticmethod
    def echo(message: str, behavior: str = "", duration_ms: int = 0, **opts: Any) -> dict[str, Any]:
        """Return a job request; `opts` are its options."""
        request: dict[str, Any] = {"behavior": behavior, "duration_ms": duration_ms, "message": message}
        return request | ({"opts": opts} if opts else {})

    def insert(self, adapter: Adapter, message: str, behavior: str = "", **rest: Any) -> dict[str, Any]:
        """Insert one job and return it."""
        job: dict[str, Any] = self.insert_many(adapter, [self.echo(message, behavior, **rest)])[0]["job"]
        return job

    @staticmethod
    def insert_many(adapter: Adapter, jobs: list[dict[str, Any]], **rest: Any) -> list[dict[str, Any]]:
        """Insert jobs and return the results."""
        results: list[dict[str, Any]] = adapter.call("insert", jobs=jobs, **rest)["results"]
        return results

    @staticmethod
    def listed(adapter: Adapter, **params: Any) -> list[dict[str, Any]]:
        """Return the jobs of a list."""
        jobs: list[dict[str, Any]] = adapter.call("list", **params)["jobs"]
        return jobs

    def read(self, adapter: Adapter, job_id: int) -> dict[str, Any]:
        """Return one job as an adapter sees it."""
        [job] = self.listed(adapter, ids=[job_id])
        return job

    def both(self, job_id: int) -> dict[str, Any]:
        """Return one job, which both adapters see alike."""
        job = self.read(self.first, job_id)
        assert self.read(self.second, job_id) == job
        return job

    def start(self, adapter: Adapter, client_id: str, **params: Any) -> None:
        """Start a worker with short intervals of maintenance."""
        adapter.call("start", **{"client_id": client_id, "tuning": FAST, **params})

    def work_one(self, adapter: Adapter, client_id: str, job_id: int, **params: Any) -> dict[str, Any]:
        """Start a worker, wait for the job's end, stop and return the job."""
        self.start(adapter, client_id, max_workers=1, **params)
        job = self.wait(job_id)
        adapter.call("stop")
        return job

    # -- facts

    @staticmethod
    def until(what: str, look: Callable[[], Any]) -> Any:
        """Look until there is something."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            if found := look():
                return found
            time.sleep(LOOK)
        raise AssertionError(f"waited in vain for {what}")

    def wait(self, job_id: int, *states: str) -> dict[str, Any]:
        """Wait until a job is in one of the states, final ones by default, and return it."""
        wanted = states or FINAL

        def look() -> dict[str, Any] | None:
            rows = self.execute("SELECT state FROM river_job WHERE id = @id", id=job_id)
            return self.both(job_id) if rows and rows[0][0] in wanted else None

        job: dict[str, Any] = self.until(f"job {job_id} in {wanted}", look)
        return job

    def wait_stats(self, adapter: Adapter, enough: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until the statistics are enough and return them."""

        def look() -> dict[str, Any] | None:
            stats: dict[str, Any] = adapter.call("stats")
            return stats if enough(stats) else None

        stats: dict[str, Any] = self.until("statistics", look)
        return stats

    def term(self) -> Row | None:
        """Return leader and start of the present term, if any."""
        rows = self.execute("SELECT leader_id, elected_at FROM river_leader")
        return tuple(rows[0]) if rows else None

    def wait_term(self, before: Row | None = None) -> Row:
        """Wait for a term other than `before`."""

        def look() -> Row | None:
            term = self.term()
            return term if term != before else None

        term: Row = self.until("a new term", look)
        return term

    def execute(self, sql: str, **parameters: Any) -> list[Row]:
        """Run a statement of the test's own."""
        with self.driver.connect() as connection:
            return connection.fetch(Statement("test", sql, parameters))

    def put(
        self,
        *,
        message: str = "raw",
        behavior: str = "",
        kind: str = ECHO,
        attempt: int = 0,
        max_attempts: int = 25,
        metadata: str = "{}",
        attempted_by: list[str] | None = None,
        job_id: int | None = None,
        state: str = "available",
        finalized: bool = False,
    ) -> int:
        """Insert a row past every client and without a notification; return its id."""
        columns = {
            "args": json.dumps({"behavior": behavior, "duration_ms": 0, "message": message}),
            "attempt": attempt,
            "attempted_by": None if attempted_by is None else json.dumps(attempted_by),
            "kind": kind,
            "max_attempts": max_attempts,
            "metadata": metadata,
            "state": state,
        }
        names = [*columns, *(["id"] if job_id is not None else []), *(["finalized_at"] if finalized else [])]
        if not self.is_postgres:
            names += ["created_at", "scheduled_at"]
        times = dict.fromkeys(("created_at", "finalized_at", "scheduled_at"), self.now)
        values = [{**self._values(), **times}.get(name, f"@{name}") for name in names]
        sql = f"INSERT INTO river_job ({', '.join(names)}) VALUES ({', '.join(values)}) RETURNING id"
        return int(self.execute(sql, **columns, id=job_id)[0][0])

    @property
    def now(self) -> str:
        """The present time in SQL."""
        return "now()" if self.is_postgres else "strftime('%Y-%m-%d %H:%M:%f', 'now')"

    def _values(self) -> dict[str, str]:
        if not self.is_postgres:
            return {name: f"jsonb(@{name})" for name in ("args", "metadata", "attempted_by")}
        return {
            "args": "@args::text::jsonb",
            "metadata": "@metadata::text::jsonb",
            "state": "@state::text::river_job_state",
            "attempted_by": "ARRAY(SELECT jsonb_array_elements_text(@attempted_by::text::jsonb))",
        }

    def move(self, job_id: int, column: str, seconds: float) -> None:
        """Move a time of a row into the past."""
        if self.is_postgres:
            change = f"{column} - make_interval(secs => @seconds::float8)"
        else:
            change = f"strftime('%Y-%m-%d %H:%M:%f', {column}, '-' || @seconds || ' seconds')"
        self.execute(f"UPDATE river_job SET {column} = {change} WHERE id = @id", id=job_id, seconds=seconds)


def is_worked_once(job: dict[str, Any], client_id: str) -> bool:
    """Tell whether a job was completed in its first attempt by this client."""
    return (job["state"], job["attempt"], job["attempted_by"], job["errors"]) == (
        "completed",
        1,
        [client_id],
        [],
    )
