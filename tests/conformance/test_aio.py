"""`AsyncClient`: the same rows as `Client`'s, awaited, alone and in the caller's transaction."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.pool import NullPool

import river_core
from river_core import AsyncClient, Client, InsertManyParams, InsertOpts, UniqueOpts, join
from river_core.drivers import open_async_driver
from river_core.drivers.base import Driver
from river_core.drivers.psycopg_async import PsycopgAsyncDriver
from river_core.drivers.sqlalchemy import watch
from river_core.errors import (
    AmbientTransactionError,
    ConfigurationError,
    JobRunningError,
    MissingSchemaError,
    NotFoundError,
    OperationalError,
    OtherDatabaseError,
    RejectedValueError,
    UnknownJobKindError,
    ValidationError,
)
from river_core.insert import EncodedArgs
from river_core.job import JobState
from tests.conformance.applications import engine_url
from tests.conformance.raw_connections import application_connection, count_jobs, fetch
from tests.databases import with_database

pytestmark = pytest.mark.postgres

ARGS = EncodedArgs("some_kind", '{"a":1}')
MOMENT = datetime(2026, 8, 7, 14, 32, 57, 123456, tzinfo=UTC)


class FixedClock:
    """A clock that a test has set."""

    def now(self) -> datetime:
        """Return always the same time."""
        return MOMENT


@asynccontextmanager
async def client_on(url: str, **options: Any) -> AsyncIterator[AsyncClient]:
    """A client that is closed at the end."""
    client = AsyncClient(open_async_driver(url), **options)
    try:
        yield client
    finally:
        await client.close()


def run(url: str, scenario: Callable[[AsyncClient], Awaitable[Any]], **options: Any) -> Any:
    """Run a scenario with a client in an event loop of its own."""

    async def main() -> Any:
        async with client_on(url, **options) as client:
            return await scenario(client)

    return asyncio.run(main())


def test_a_row_is_that_of_the_blocking_client(postgres_driver: Driver, postgres_url: str) -> None:
    """Every column but the id, for the same call; and a later reader sees what was returned."""
    options: dict[str, Any] = {
        "max_attempts": 3,
        "priority": 4,
        "queue": "mail",
        "scheduled_at": MOMENT,
        "tags": ["one"],
        "metadata": {"k": "é"},
    }

    async def scenario(client: AsyncClient) -> Any:
        job = (await client.insert(ARGS, **options)).job
        assert await client.job_get(job.id) == job
        return job

    awaited = run(postgres_url, scenario, clock=FixedClock())
    blocking = Client(postgres_driver, clock=FixedClock()).insert(ARGS, **options).job
    assert Client(postgres_driver).job_get(awaited.id) == awaited
    fields = set(type(awaited).__dataclass_fields__) - {"id"}
    assert {name: getattr(awaited, name) for name in fields} == {
        name: getattr(blocking, name) for name in fields
    }


def test_insert_many_gives_one_result_each_in_order(postgres_driver: Driver, postgres_url: str) -> None:
    """All or none; a unique key finds the older row."""
    jobs = [InsertManyParams(EncodedArgs("some_kind", f'{{"n":{number}}}')) for number in range(20)]
    unique = InsertManyParams(ARGS, InsertOpts(unique_opts=UniqueOpts(by_args=True)))

    async def scenario(client: AsyncClient) -> None:
        results = await client.insert_many([*jobs, unique])
        assert [result.job.args.get("n") for result in results] == [*range(20), None]
        again = (await client.insert_many([unique]))[0]
        assert again.unique_skipped_as_duplicate
        assert again.job == results[-1].job

    run(postgres_url, scenario)
    assert count_jobs(postgres_driver) == 21


def test_what_is_refused_is_refused_before_anything_is_written(
    postgres_driver: Driver, postgres_url: str
) -> None:
    """By the same checks as in the blocking client."""
    registry = river_core.Registry().add("known_kind", lambda job: None)

    async def scenario(client: AsyncClient) -> None:
        for error, call in (
            (ValidationError, lambda: client.insert(ARGS, priority=9)),
            (ValidationError, lambda: client.insert(ARGS, InsertOpts(), queue="mail", priority=9)),
            (ValidationError, lambda: client.insert_many([])),
            (ValidationError, lambda: client.insert(ARGS, enqueue="after_commit")),  # type: ignore[arg-type] # the point
            (ValidationError, lambda: client.job_get("7")),  # type: ignore[arg-type] # the point
            (NotFoundError, lambda: client.job_get(7)),
            (NotFoundError, lambda: client.job_cancel(7)),
            (NotFoundError, lambda: client.job_retry(7)),
            (NotFoundError, lambda: client.job_delete(7)),
        ):
            with pytest.raises(error):
                await call()  # type: ignore[operator] # mypy sees the join of the calls

    run(postgres_url, scenario)

    async def unknown(client: AsyncClient) -> None:
        with pytest.raises(UnknownJobKindError):
            await client.insert(ARGS)

    run(postgres_url, unknown, registry=registry)
    with pytest.raises(ConfigurationError):
        AsyncClient(open_async_driver(postgres_url), queue="A")
    assert count_jobs(postgres_driver) == 0


def test_jobs_are_cancelled_retried_and_deleted(postgres_driver: Driver, postgres_url: str) -> None:
    """The same steps as in the blocking client, running jobs included."""

    async def scenario(client: AsyncClient) -> None:
        job = (await client.insert(ARGS)).job
        assert (await client.job_cancel(job.id)).state is JobState.CANCELLED
        assert (await client.job_retry(job.id)).state is JobState.AVAILABLE
        fetch(postgres_driver, "UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now()")
        with pytest.raises(JobRunningError):
            await client.job_delete(job.id)
        assert (await client.job_cancel(job.id)).metadata["cancel_attempted_at"]
        fetch(postgres_driver, "UPDATE river_job SET state = 'available'")
        assert (await client.job_delete(job.id)).id == job.id

    run(postgres_url, scenario)
    assert count_jobs(postgres_driver) == 0


def test_workers_are_told(postgres_driver: Driver, postgres_url: str) -> None:
    """Of an insert, once in a while per queue."""
    listener = postgres_driver.listen(["river_insert"])

    async def scenario(client: AsyncClient) -> None:
        await client.insert(ARGS, queue="mail")
        await client.insert(ARGS, queue="mail")

    run(postgres_url, scenario)
    assert [item.payload for item in listener.wait(5)] == ['{"queue":"mail"}']
    listener.close()


Begin = Callable[[str], AbstractAsyncContextManager[Any]]


@asynccontextmanager
async def psycopg_connection(url: str) -> AsyncIterator[Any]:
    """psycopg's AsyncConnection, with a row factory and a zone of the application's."""
    async with await psycopg.AsyncConnection.connect(url, row_factory=dict_row) as connection:
        await connection.execute("SET TIME ZONE 'Asia/Tokyo'")
        yield connection


@asynccontextmanager
async def async_session(url: str, library: str = "psycopg") -> AsyncIterator[Any]:
    """SQLAlchemy's AsyncSession."""
    made = create_async_engine(engine_url(url, library), poolclass=NullPool)
    async with AsyncSession(made) as session:
        yield session
    await made.dispose()


@asynccontextmanager
async def asyncpg_session(url: str) -> AsyncIterator[Any]:
    """SQLAlchemy's AsyncSession on asyncpg, which is given the search path in its own way."""
    plain, _, path = url.partition("?options=-csearch_path%3D")
    made = create_async_engine(
        engine_url(plain, "asyncpg"),
        poolclass=NullPool,
        connect_args={"server_settings": {"search_path": path}},
    )
    async with AsyncSession(made) as session:
        yield session
    await made.dispose()


@asynccontextmanager
async def async_core_connection(url: str) -> AsyncIterator[Any]:
    """SQLAlchemy's AsyncConnection."""
    made = create_async_engine(engine_url(url), poolclass=NullPool)
    async with made.connect() as connection:
        yield connection
    await made.dispose()


@pytest.mark.parametrize(
    "begin",
    [psycopg_connection, async_session, asyncpg_session, async_core_connection],
    ids=["psycopg", "sqlalchemy-session", "sqlalchemy-asyncpg", "sqlalchemy-connection"],
)
class TestTransactions:
    """The caller's transaction, adopted."""

    def test_commit_and_rollback_decide(
        self, postgres_driver: Driver, postgres_url: str, begin: Begin
    ) -> None:
        """Named in the call or joined; nothing is visible before, and reads see what was written."""

        async def scenario(client: AsyncClient) -> None:
            async with begin(postgres_url) as application:
                job = (await client.insert_tx(application, ARGS)).job
                await client.insert_many_tx(application, [InsertManyParams(ARGS), InsertManyParams(ARGS)])
                assert str(job.created_at.tzinfo) == "UTC"
                await application.rollback()
                assert count_jobs(postgres_driver) == 0
                with join(application):
                    kept = (await client.insert(ARGS)).job
                    assert await client.job_get(kept.id) == kept
                    await client.job_cancel(kept.id)
                    await client.insert(ARGS, enqueue="own")
                assert count_jobs(postgres_driver) == 1
                await application.commit()
                assert (await client.job_get(kept.id)).state is JobState.CANCELLED

        run(postgres_url, scenario)
        assert count_jobs(postgres_driver) == 2

    def test_a_refused_value_leaves_the_decision_to_the_application(
        self, postgres_driver: Driver, postgres_url: str, begin: Begin
    ) -> None:
        """The error is River's; after it the transaction is failed, and a rollback makes it usable."""
        nonsense = EncodedArgs("k" * 127, '{"a":1}')

        async def scenario(client: AsyncClient) -> None:
            async with begin(postgres_url) as application:
                await client.insert_tx(application, nonsense, queue="mail")
                with pytest.raises(RejectedValueError):
                    await client.insert_many_tx(
                        application, [InsertManyParams(EncodedArgs("some_kind", '{"a":1e999999}'))]
                    )
                await application.rollback()
                await client.insert_tx(application, ARGS)
                await application.commit()

        run(postgres_url, scenario)
        assert count_jobs(postgres_driver) == 1


def test_a_watched_async_session_is_joined(postgres_driver: Driver, postgres_url: str) -> None:
    """At once and awaited; a child task does not join."""

    async def scenario(client: AsyncClient) -> None:
        async with async_session(postgres_url) as session:
            watch(session)
            await session.execute(sqlalchemy.text("SELECT 1"))
            assert (await client.insert(ARGS)).job.id > 0
            assert count_jobs(postgres_driver) == 0
            await asyncio.create_task(client.insert(ARGS))  # type: ignore[arg-type] # it is a coroutine
            assert count_jobs(postgres_driver) == 1
            await session.rollback()

    run(postgres_url, scenario)
    assert count_jobs(postgres_driver) == 1


def test_what_cannot_be_joined_is_refused_by_name(
    postgres_driver: Driver, postgres_url: str, postgres_server: Any, tmp_path: Path
) -> None:
    """A closed or failed connection, a blocking one, another database, SQLite."""
    elsewhere = with_database(postgres_server.url, "template1")

    async def scenario(client: AsyncClient) -> None:
        async with psycopg_connection(elsewhere) as other:
            with pytest.raises(OtherDatabaseError, match="template1"):
                await client.insert_tx(other, ARGS)
        with pytest.raises(AmbientTransactionError, match="closed"):
            await client.insert_tx(other, ARGS)
        async with psycopg_connection(postgres_url) as failed:
            with pytest.raises(psycopg.Error):
                await failed.execute("SELECT 1 / 0")
            with pytest.raises(AmbientTransactionError, match="roll it back"):
                await client.insert_tx(failed, ARGS)
            await failed.rollback()
        with (
            application_connection(postgres_url) as blocking,
            pytest.raises(AmbientTransactionError, match=r"psycopg\.AsyncConnection.*psycopg\.Connection"),
        ):
            await client.insert_tx(blocking, ARGS)

    run(postgres_url, scenario)
    with pytest.raises(ConfigurationError, match="to_thread"):
        open_async_driver(f"sqlite:///{tmp_path}/river.sqlite3")
    assert count_jobs(postgres_driver) == 0


class TestPool:
    """The few connections of our own."""

    def test_another_event_loop_starts_with_fresh_connections(
        self, postgres_driver: Driver, postgres_url: str
    ) -> None:
        """A client made once serves one `asyncio.run` after the other."""
        client = AsyncClient(open_async_driver(postgres_url))

        async def insert() -> None:
            await client.insert(ARGS)

        async def end() -> None:
            await client.insert(ARGS)
            await client.close()
            await client.close()

        asyncio.run(insert())
        asyncio.run(insert())
        asyncio.run(end())
        assert count_jobs(postgres_driver) == 3

    def test_concurrent_calls_share_them(self, postgres_driver: Driver, postgres_url: str) -> None:
        """More callers than connections wait for each other."""

        async def scenario() -> None:
            client = AsyncClient(PsycopgAsyncDriver(postgres_url, max_size=2))
            await asyncio.gather(*(client.insert(ARGS) for _ in range(20)))
            await client.close()

        asyncio.run(scenario())
        assert count_jobs(postgres_driver) == 20

    def test_a_terminated_connection_is_not_lent_again(
        self, postgres_driver: Driver, postgres_url: str
    ) -> None:
        """The next call opens another one."""
        terminate = (
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database() AND query LIKE '%river_job%' "
            "AND application_name = 'awaited'"
        )

        async def scenario(client: AsyncClient) -> None:
            await client.insert(ARGS)
            assert fetch(postgres_driver, terminate)[0][0] == 1
            await client.insert(ARGS)

        run(f"{postgres_url}&application_name=awaited", scenario)
        assert count_jobs(postgres_driver) == 2

    def test_a_dead_database_is_rivers_error(self, postgres_url: str) -> None:
        """And so is a database without River's tables."""

        async def scenario(client: AsyncClient) -> None:
            with pytest.raises(OperationalError):
                await client.insert(ARGS)

        run("postgresql://127.0.0.1:1/none", scenario)

        async def without_schema(client: AsyncClient) -> None:
            with pytest.raises(MissingSchemaError):
                await client.insert(ARGS)

        run(postgres_url, without_schema)

    def test_a_forked_child_opens_its_own(self, postgres_driver: Driver, postgres_url: str) -> None:
        """And leaves the parent's alone."""
        client = AsyncClient(open_async_driver(postgres_url))

        async def scenario() -> None:
            await client.insert(ARGS)

        with asyncio.Runner() as runner:
            runner.run(scenario())
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    asyncio.run(scenario())
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0
            runner.run(scenario())
            runner.run(client.close())
        assert count_jobs(postgres_driver) == 3
