"""A worker and a client on each version of the schema that River supports today."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from river_core import Client, EncodedArgs, InsertOpts, UniqueOpts
from river_core.db.statement import Statement
from river_core.drivers import open_driver
from river_core.drivers.base import Driver
from river_core.drivers.sqlite import SqliteDriver
from river_core.errors import JobSnoozeError
from river_core.insert import InsertManyParams
from river_core.job import JobState
from river_core.migrate import EVERYTHING, Migrator
from river_core.task import Job
from tests.runtime.workers import next_event, registry, running, wait_for

ARGS = EncodedArgs("worked", '{"n":1}')


@pytest.fixture(params=[7, 8])
def old(database_url: str, request: pytest.FixtureRequest) -> Iterator[Driver]:
    """A driver on a schema of an earlier version, and of the newest."""
    with closing(open_driver(database_url)) as opened:
        Migrator(opened).migrate_up(target_version=request.param)
        assert Migrator(opened).existing_versions()[-1] == request.param
        yield opened


def test_a_client_works_on_both_versions(old: Driver) -> None:
    """Checklist 13. Inserts, duplicates, cancels, retries, lists, queues, a leader, and every outcome."""
    client = Client(old)

    def task(job: Job) -> None:
        if job.row.attempt == 1 and not job.row.metadata.get("snoozes"):
            raise JobSnoozeError(0)
        job.record_output({"n": job.args["n"]})

    unique = InsertOpts(unique_opts=UniqueOpts(by_args=True))
    job = client.insert(ARGS, unique).job
    assert client.insert(ARGS, unique).unique_skipped_as_duplicate
    cancelled = client.job_cancel(client.insert(ARGS).job.id)
    assert cancelled.state is JobState.CANCELLED
    with running(old, registry(worked=task)) as worker:
        events = worker.events.subscribe("queue_paused")
        wait_for(lambda: client.job_get(job.id).finalized_at, "the end of the job")
        client.queue_pause("default")
        assert next_event(events).kind == "queue_paused"
    done = client.job_get(job.id)
    assert (done.state, done.metadata["output"], done.metadata["snoozes"]) == (
        JobState.COMPLETED,
        {"n": 1},
        1,
    )
    client.job_retry(cancelled.id)
    client.insert_many([InsertManyParams(ARGS), InsertManyParams(ARGS)])
    waiting = client.job_list(states=["available"]).jobs
    assert len(waiting) == 3
    assert client.job_delete_many(kinds=["worked"]) == [done, *waiting]


def test_foreign_keys_may_be_on(sqlite_path: Path) -> None:
    """Checklist 13. All versions go up, down and up again on a connection that enforces them."""
    with closing(SqliteDriver(sqlite_path, max_size=1)) as driver:
        with driver.connect() as connection:
            connection.fetch(Statement("on", "PRAGMA foreign_keys = ON", {}))
        migrator = Migrator(driver)
        migrator.migrate_up(target_version=6)
        assert len(migrator.migrate_up().versions) == 2
        assert len(migrator.migrate_down(EVERYTHING).versions) == 8
        assert len(migrator.migrate_up().versions) == 8
        with driver.connect() as connection:
            assert connection.fetch(Statement("is", "PRAGMA foreign_keys", {}))[0][0] == 1
            assert connection.fetch(Statement("check", "PRAGMA foreign_key_check", {})) == []
