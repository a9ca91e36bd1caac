"""`AsyncClient`: the same rows as `Client`'s, awaited, alone and in the caller's transaction."""

from __future__ import annotations

import asyncio
import inspect
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiosqlite
import psycopg
import pytest
import sqlalchemy
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.pool import NullPool

import river_core
from river_core import (
    AsyncClient,
    Client,
    InsertManyParams,
    InsertOpts,
    InsertParams,
    InsertResult,
    Plugin,
    UniqueOpts,
    join,
)
from river_core.db.statement import Dialect
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
from river_core.plugins import InsertOperation
from tests.conformance.applications import engine_url
from tests.conformance.listening import DEADLINE
from tests.conformance.raw_connections import application_connection, count_jobs, fetch
from tests.databases import with_database

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
            (ValidationError, lambda: client.insert(ARGS, enqueue="later")),  # type: ignore[arg-type] # the point
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
    made = create_async_engine(on_aiosqlite(engine_url(url)), poolclass=NullPool)
    async with made.connect() as connection:
        yield connection
    await made.dispose()


@asynccontextmanager
async def aiosqlite_session(url: str) -> AsyncIterator[Any]:
    """SQLAlchemy's AsyncSession on aiosqlite."""
    made = create_async_engine(on_aiosqlite(url), poolclass=NullPool)
    async with AsyncSession(made) as session:
        yield session
    await made.dispose()


@asynccontextmanager
async def aiosqlite_connection(url: str) -> AsyncIterator[Any]:
    """aiosqlite's Connection, with a row factory of the application's."""
    async with aiosqlite.connect(url.removeprefix("sqlite:///")) as connection:
        connection.row_factory = aiosqlite.Row
        yield connection


class Unawaited:
    """sqlite3's Connection, whose end can be awaited as that of the others."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    async def commit(self) -> None:
        """Commit."""
        self.raw.commit()

    async def rollback(self) -> None:
        """Roll back."""
        self.raw.rollback()


@asynccontextmanager
async def sqlite_connection(url: str) -> AsyncIterator[Any]:
    """sqlite3's Connection, which blocks."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        yield Unawaited(connection)


def on_aiosqlite(url: str) -> str:
    """Return a URL on SQLite in SQLAlchemy's spelling for coroutines."""
    return url.replace("sqlite:", "sqlite+aiosqlite:")


def given(application: Any) -> Any:
    """Return what a client is given."""
    return application.raw if isinstance(application, Unawaited) else application


ON_POSTGRES = [
    pytest.param("postgres", begin, id=name, marks=pytest.mark.postgres)
    for name, begin in {
        "psycopg": psycopg_connection,
        "sqlalchemy-session": async_session,
        "sqlalchemy-asyncpg": asyncpg_session,
        "sqlalchemy-connection": async_core_connection,
    }.items()
]
ON_SQLITE = [
    pytest.param("sqlite", begin, id=name)
    for name, begin in {
        "sqlite3": sqlite_connection,
        "aiosqlite": aiosqlite_connection,
        "sqlalchemy-aiosqlite": aiosqlite_session,
        "sqlalchemy-aiosqlite-connection": async_core_connection,
    }.items()
]


class TestTransactions:
    """The caller's transaction, adopted."""

    @pytest.mark.parametrize(("database_url", "begin"), [*ON_POSTGRES, *ON_SQLITE], indirect=["database_url"])
    def test_commit_and_rollback_decide(self, driver: Driver, database_url: str, begin: Begin) -> None:
        """Named in the call or joined; nothing is visible before, and reads see what was written."""

        async def scenario(client: AsyncClient) -> None:
            async with begin(database_url) as owner:
                application = given(owner)
                job = (await client.insert_tx(application, ARGS)).job
                await client.insert_many_tx(application, [InsertManyParams(ARGS), InsertManyParams(ARGS)])
                assert str(job.created_at.tzinfo) == "UTC"
                await owner.rollback()
                assert count_jobs(driver) == 0
                with join(application):
                    kept = (await client.insert(ARGS)).job
                    assert await client.job_get(kept.id) == kept
                    await client.job_cancel(kept.id)
                    if driver.sql.dialect is Dialect.POSTGRES:  # SQLite has one writer at a time
                        await client.insert(ARGS, enqueue="own")
                        assert count_jobs(driver) == 1
                await owner.commit()
                assert (await client.job_get(kept.id)).state is JobState.CANCELLED

        run(database_url, scenario)
        assert count_jobs(driver) == (2 if driver.sql.dialect is Dialect.POSTGRES else 1)

    @pytest.mark.parametrize(("database_url", "begin"), ON_SQLITE, indirect=["database_url"])
    def test_every_call_has_a_sibling_in_the_transaction(
        self, driver: Driver, database_url: str, begin: Begin
    ) -> None:
        """Also the fast insert, links, lists and deletions; a roll-back undoes them all."""

        async def scenario(client: AsyncClient) -> None:
            async with begin(database_url) as owner:
                connection = given(owner)
                assert await client.insert_many_fast_tx(connection, [InsertManyParams(ARGS)] * 3) == 3
                page = await client.job_list_tx(connection, limit=2)
                rest = await client.job_list_tx(connection, after=page.last_cursor)
                assert (len(page.jobs), len(rest.jobs)) == (2, 1)
                deleted = await client.job_delete_many_tx(connection, kinds=["some_kind"])
                assert len(deleted) == 3
                await client.request_resign_tx(connection)
                await owner.rollback()

        run(database_url, scenario)
        assert count_jobs(driver) == 0

    @pytest.mark.parametrize(("database_url", "begin"), ON_POSTGRES, indirect=["database_url"])
    def test_a_refused_value_leaves_the_decision_to_the_application(
        self, driver: Driver, database_url: str, begin: Begin
    ) -> None:
        """The error is River's; after it the transaction is failed, and a rollback makes it usable."""
        nonsense = EncodedArgs("k" * 127, '{"a":1}')

        async def scenario(client: AsyncClient) -> None:
            async with begin(database_url) as application:
                await client.insert_tx(application, nonsense, queue="mail")
                with pytest.raises(RejectedValueError):
                    await client.insert_many_tx(
                        application, [InsertManyParams(EncodedArgs("some_kind", '{"a":1e999999}'))]
                    )
                await application.rollback()
                await client.insert_tx(application, ARGS)
                await application.commit()

        run(database_url, scenario)
        assert count_jobs(driver) == 1


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
    postgres_driver: Driver, postgres_url: str, postgres_server: Any
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
    with pytest.raises(ConfigurationError, match="four before an absolute"):
        open_async_driver("sqlite://river.sqlite3")
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


def test_it_has_every_call_of_the_blocking_client() -> None:
    """Under the same name, with the same parameters, but for what belongs to its connections or adapters."""
    blocking_only = {"flush_notifications", "insert_for_ids", "insert_rows_on", "insert_while_made"}
    for name, method in inspect.getmembers(Client, inspect.isfunction):
        if name.startswith("_") or name in blocking_only:
            continue
        awaited = getattr(AsyncClient, name)
        assert list(inspect.signature(awaited).parameters) == list(inspect.signature(method).parameters), name
        assert inspect.iscoroutinefunction(awaited) or name == "row_to_insert", name


class TestAfterCommit:
    """Inserts that wait for a commit."""

    @pytest.mark.parametrize(
        ("database_url", "begin"),
        [ON_POSTGRES[1], ON_POSTGRES[2], ON_SQLITE[2]],
        indirect=["database_url"],
    )
    def test_a_watched_async_session(self, driver: Driver, database_url: str, begin: Begin) -> None:
        """On a connection of our own once it is committed, and not at all if it rolls back."""

        async def scenario(client: AsyncClient) -> None:
            assert (await client.insert(ARGS, enqueue="after_commit")).job.id > 0  # there is no transaction
            async with begin(database_url) as session:
                watch(session)
                await session.execute(sqlalchemy.text("SELECT 1"))
                assert (await client.insert(ARGS, enqueue="after_commit")).job.id == 0
                await session.rollback()
                await session.execute(sqlalchemy.text("SELECT 1"))
                await client.insert_many([InsertManyParams(ARGS)] * 2, enqueue="after_commit")
                assert count_jobs(driver) == 1
                await session.commit()
            assert count_jobs(driver) == 3

        run(database_url, scenario)

    def test_a_session_on_another_database(
        self, postgres_driver: Driver, postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Its commit is waited for, with one warning."""

        async def scenario(client: AsyncClient) -> None:
            async with aiosqlite_session(f"sqlite:///{tmp_path}/own.sqlite3") as session:
                watch(session)
                await session.execute(sqlalchemy.text("SELECT 1"))
                for _ in range(2):
                    assert (await client.insert(ARGS)).job.id == 0
                assert count_jobs(postgres_driver) == 0
                await session.commit()
            assert count_jobs(postgres_driver) == 2

        run(postgres_url, scenario)
        assert len([item for item in caplog.records if "another database" in item.getMessage()]) == 1

    def test_who_does_not_tell_is_refused(self, sqlite_driver: Driver, sqlite_path: Path) -> None:
        """A connection without such events, by name."""

        async def scenario(client: AsyncClient) -> None:
            async with aiosqlite_connection(f"sqlite:///{sqlite_path}") as connection:
                with join(connection), pytest.raises(AmbientTransactionError, match="aiosqlite"):
                    await client.insert(ARGS, enqueue="after_commit")

        run(f"sqlite:///{sqlite_path}", scenario)


class TestSqlite:
    """Our own connections, in threads."""

    def test_the_loop_goes_on_while_the_file_is_locked(
        self, sqlite_driver: Driver, sqlite_path: Path
    ) -> None:
        """More callers than connections wait for the one writer, and none of them blocks the loop."""

        async def scenario(client: AsyncClient) -> None:
            with closing(sqlite3.connect(sqlite_path, isolation_level=None)) as writer:
                writer.execute("BEGIN IMMEDIATE")
                inserts = asyncio.gather(*(client.insert(ARGS) for _ in range(10)))
                await asyncio.sleep(0)
                assert not inserts.done()
                writer.execute("COMMIT")
            assert len({result.job.id for result in await inserts}) == 10

        run(f"sqlite:///{sqlite_path}", scenario)
        assert count_jobs(sqlite_driver) == 10

    def test_a_cancelled_call_leaves_nothing_half_done(
        self, sqlite_driver: Driver, sqlite_path: Path
    ) -> None:
        """It ends when its statement has, and its transaction is rolled back."""

        async def scenario(client: AsyncClient) -> None:
            with closing(sqlite3.connect(sqlite_path, isolation_level=None)) as writer:
                writer.execute("BEGIN IMMEDIATE")
                insert = asyncio.ensure_future(client.insert(ARGS))
                await asyncio.sleep(0.05)  # it may wait for the lock by now, or not: both must end well
                insert.cancel()
                writer.execute("COMMIT")
                with pytest.raises(asyncio.CancelledError):
                    await insert
            assert (await client.job_list()).jobs == []
            await client.insert(ARGS)

        run(f"sqlite:///{sqlite_path}", scenario)
        assert count_jobs(sqlite_driver) == 1

    def test_one_client_serves_one_event_loop_after_the_other(
        self, sqlite_driver: Driver, sqlite_path: Path
    ) -> None:
        """And closes twice."""
        client = AsyncClient(open_async_driver(f"sqlite:///{sqlite_path}"))

        async def insert() -> None:
            await asyncio.gather(*(client.insert(ARGS) for _ in range(5)))

        async def close() -> None:
            await client.close()
            await client.close()

        asyncio.run(insert())
        asyncio.run(insert())
        asyncio.run(close())
        assert count_jobs(sqlite_driver) == 10

    def test_another_file_is_refused(self, sqlite_driver: Driver, sqlite_path: Path, tmp_path: Path) -> None:
        """By its path, and a closed connection by what is wrong with it."""

        async def scenario(client: AsyncClient) -> None:
            async with aiosqlite_connection(f"sqlite:///{tmp_path}/other.sqlite3") as other:
                with pytest.raises(OtherDatabaseError, match=r"other\.sqlite3"):
                    await client.insert_tx(other, ARGS)
            with pytest.raises(AmbientTransactionError):
                await client.insert_tx(other, ARGS)
            with pytest.raises(AmbientTransactionError, match="sqlite3 or aiosqlite"):
                await client.insert_tx(object(), ARGS)

        run(f"sqlite:///{sqlite_path}", scenario)


class TestPlugins:
    """Insert plugins, which are blocking code; their order is stated in test_insert_plugins."""

    def test_they_run_beside_the_loop_in_the_transaction_of_the_insert(
        self, driver: Driver, database_url: str
    ) -> None:
        """In a thread, with the caller's context; what they raise undoes the insert."""
        threads: list[threading.Thread] = []

        class Refusing(Plugin):
            def insert_end(self, result: InsertResult) -> None:
                threads.append(threading.current_thread())
                raise PermissionError("not this one")

        async def scenario(client: AsyncClient) -> None:
            with pytest.raises(PermissionError):
                await client.insert(ARGS)

        run(database_url, scenario, plugins=[Refusing()])
        assert threads[0] is not threading.current_thread()
        assert count_jobs(driver) == 0

    def test_a_cancelled_insert_waits_for_its_plugins(self, driver: Driver, database_url: str) -> None:
        """Nothing is written behind the roll-back."""
        begun, release = threading.Event(), threading.Event()
        ended: list[int] = []

        class Slow(Plugin):
            def insert_many(
                self, params: list[InsertParams], operation: InsertOperation
            ) -> list[InsertResult]:
                begun.set()
                assert release.wait(DEADLINE)
                results = operation(params)
                ended.append(len(results))
                return results

        async def scenario(client: AsyncClient) -> None:
            insert = asyncio.ensure_future(client.insert(ARGS))
            await asyncio.to_thread(begun.wait, DEADLINE)
            insert.cancel()
            await asyncio.sleep(0)
            release.set()
            with pytest.raises(asyncio.CancelledError):
                await insert
            assert ended == [1]

        run(database_url, scenario, plugins=[Slow()])
        assert count_jobs(driver) == 0
