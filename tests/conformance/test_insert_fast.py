"""The fast insert of many jobs: the same rows as the ordinary one, all or none, and only a number back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core import (
    AsyncClient,
    Client,
    EncodedArgs,
    InsertManyParams,
    InsertOpts,
    InsertParams,
    JobState,
    UniqueOpts,
)
from river_core.db.notifications import TOPIC_INSERT
from river_core.drivers import open_async_driver
from river_core.drivers.base import Driver
from river_core.drivers.psycopg import PsycopgDriver
from river_core.errors import RejectedValueError, UniqueConflictError, ValidationError
from river_core.inserting_fast import insert_many_fast
from river_core.job import JobRow
from tests.conformance.applications import every_library
from tests.conformance.listening import heard_during
from tests.conformance.raw_connections import count_jobs, fetch
from tests.conformance.test_insert import FixedClock, database_now
from tests.conformance.test_insert_plugins import Changing, Recorder

ARGS = EncodedArgs("some_kind", '{"a":1}')
BY_ARGS = InsertOpts(unique_opts=UniqueOpts(by_args=True))
MOMENT = datetime(2026, 8, 7, 14, 32, 57, 123000, tzinfo=UTC)
ODD = '{"tab":"\\t", "line":"\\n",\t\n "slash":"\\\\", "N":"\\\\N", "text":"é\\u2028\\"", "big":1e400}'

JOBS = [
    InsertManyParams(ARGS),
    InsertManyParams(EncodedArgs("odd\tkind\\N\n\x1f", ODD), InsertOpts(priority=4, max_attempts=3)),
    InsertManyParams(EncodedArgs("later", "{}"), InsertOpts(scheduled_at=MOMENT, queue="mail")),
    InsertManyParams(EncodedArgs("waits", "{}"), InsertOpts(pending=True, metadata={"k": "é\\\t"})),
    InsertManyParams(EncodedArgs("tagged", "{}"), InsertOpts(tags=["one", "NULL", "two_3"])),
    InsertManyParams(EncodedArgs("unique", '{"a":1}'), BY_ARGS),
]


def rows(driver: Driver) -> list[JobRow]:
    """Return all jobs by kind, without what differs between two inserts of one job."""
    jobs = [Client(driver).job_get(row[0]) for row in fetch(driver, "SELECT id FROM river_job ORDER BY kind")]
    return [replace(job, id=0, created_at=MOMENT, scheduled_at=_given(job)) for job in jobs]


def _given(job: JobRow) -> datetime:
    return job.scheduled_at if job.state is JobState.SCHEDULED else MOMENT


@every_library
def test_the_rows_are_those_of_the_ordinary_insert(driver: Driver, application: Any) -> None:
    """Checklist 32. Every column, whatever the values hold, by every library; the number comes back."""
    Client(driver).insert_many(JOBS)
    expected = rows(driver)
    with driver.connect() as connection:
        connection.run_script("DELETE FROM river_job")
    assert Client(driver).insert_many_fast_tx(application, JOBS) == len(JOBS)
    assert count_jobs(driver) == 0
    application.commit()
    assert rows(driver) == expected


def test_the_same_on_our_own_connection(driver: Driver) -> None:
    """Checklist 32. Also in a batch of one."""
    Client(driver).insert_many(JOBS)
    expected = rows(driver)
    with driver.connect() as connection:
        connection.run_script("DELETE FROM river_job")
    assert Client(driver).insert_many_fast(JOBS) == len(JOBS)
    assert rows(driver) == expected
    assert Client(driver).insert_many_fast([InsertManyParams(ARGS)]) == 1


@every_library
def test_a_rollback_takes_the_rows_with_it(driver: Driver, application: Any) -> None:
    """They belong to the caller's transaction like any others."""
    assert Client(driver).insert_many_fast_tx(application, JOBS) == len(JOBS)
    application.rollback()
    assert count_jobs(driver) == 0


def test_times_are_the_databases(driver: Driver) -> None:
    """Unless a test set a clock."""
    before = database_now(driver)
    Client(driver).insert_many_fast([InsertManyParams(ARGS)])
    [(job_id,)] = fetch(driver, "SELECT id FROM river_job")
    job = Client(driver).job_get(job_id)
    assert before <= job.created_at == job.scheduled_at <= database_now(driver)
    Client(driver, clock=FixedClock()).insert_many_fast([InsertManyParams(ARGS)])
    job = Client(driver).job_get(job_id + 1)
    assert job.created_at == job.scheduled_at
    assert abs(job.created_at - FixedClock().now()) < timedelta(milliseconds=1)


def test_a_given_creation_time_is_kept(driver: Driver) -> None:
    """A row of an adapter may have one without a time at which it is due."""
    row = InsertParams("some_kind", "{}", created_at=MOMENT)
    with driver.connect() as connection:
        insert_many_fast(connection, driver.sql, [row, row], ())
    moments = {
        (job.created_at == MOMENT, job.scheduled_at > MOMENT)
        for job in (Client(driver).job_get(job_id) for job_id in (1, 2))
    }
    assert moments == {(True, True)}


@every_library
def test_a_taken_unique_key_fails_the_whole_call(driver: Driver, application: Any) -> None:
    """Checklist 32. Nothing is inserted, on any database; the holder stays."""
    client = Client(driver)
    held = client.insert(ARGS, BY_ARGS).job
    batch = [InsertManyParams(EncodedArgs("other", "{}")), InsertManyParams(ARGS, BY_ARGS)]
    for insert in (
        lambda: client.insert_many_fast_tx(application, batch),
        lambda: client.insert_many_fast(batch),
    ):
        with pytest.raises(UniqueConflictError, match="nothing was inserted"):
            insert()
        application.rollback()
        assert count_jobs(driver) == 1
    assert client.job_get(held.id) == held


def test_what_is_refused_before_and_by_the_database(driver: Driver) -> None:
    """An empty batch, a repeated key, a bad option; and what only the database sees is no unique conflict."""
    client = Client(driver)
    with pytest.raises(ValidationError, match="no jobs to insert"):
        client.insert_many_fast([])
    with pytest.raises(ValidationError, match="jobs 0 and 1"):
        client.insert_many_fast([InsertManyParams(ARGS, BY_ARGS)] * 2)
    with pytest.raises(ValidationError, match="BAD"):
        client.insert_many_fast([InsertManyParams(ARGS), InsertManyParams(ARGS, InsertOpts(queue="BAD"))])
    bad = [InsertParams("some_kind", "{}"), InsertParams("some_kind", "no JSON")]
    with driver.connect() as connection, pytest.raises(RejectedValueError):
        insert_many_fast(connection, driver.sql, bad, ())
    assert count_jobs(driver) == 0


def test_workers_are_told(driver: Driver) -> None:
    """Checklist 49. Once a queue, of what can be worked at once."""
    heard = heard_during(driver, lambda: Client(driver).insert_many_fast(JOBS))
    assert [(item.topic, item.payload) for item in heard] == [(TOPIC_INSERT, '{"queue":"default"}')]


def test_plugins_see_it(driver: Driver) -> None:
    """Checklist 122. Middleware and `insert_begin`, which may change rows; there is nothing to end with."""
    calls: list[str] = []
    client = Client(driver, plugins=(Recorder("A", calls), Changing(queue="changed")))
    assert client.insert_many_fast([InsertManyParams(ARGS), InsertManyParams(ARGS)]) == 2
    assert calls == ["A before 2", "A begin some_kind", "A begin some_kind", "A after 2"]
    assert fetch(driver, "SELECT DISTINCT queue FROM river_job") == [("changed",)]


@pytest.mark.postgres
def test_it_is_a_copy_on_postgres(postgres_driver: PsycopgDriver) -> None:
    """One COPY for all rows, and one statement that notifies."""
    statements: list[str] = []
    with postgres_driver.connect() as connection:
        original = type(connection).fetch

        class Watched(type(connection)):
            def fetch(self, statement: Any) -> Any:
                statements.append(statement.name)
                return original(self, statement)

        watched = Watched(connection.raw)
        insert_many_fast(watched, postgres_driver.sql, [InsertParams("some_kind", "{}")] * 3, ["default"])
    assert statements == ["copy_jobs", "notify_many"]
    assert count_jobs(postgres_driver) == 3


@pytest.mark.postgres
def test_the_awaited_client_does_the_same(postgres_driver: PsycopgDriver, postgres_url: str) -> None:
    """Checklist 32. Alone and in the caller's transaction, with the same refusal."""

    async def insert() -> None:
        client = AsyncClient(open_async_driver(postgres_url))
        try:
            assert await client.insert_many_fast(JOBS) == len(JOBS)
            with pytest.raises(UniqueConflictError):
                await client.insert_many_fast(JOBS)
            async with client.driver.connect() as own, own.transaction():
                assert await client.insert_many_fast_tx(own.raw, [InsertManyParams(ARGS)]) == 1
        finally:
            await client.close()

    asyncio.run(insert())
    assert count_jobs(postgres_driver) == len(JOBS) + 1
