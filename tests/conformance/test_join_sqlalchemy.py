"""SQLAlchemy: watched sessions, savepoints, the commit's events, async sessions, other databases."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import orm
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import NullPool

from river_core.ambient import join, watched
from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.drivers.sqlalchemy import watch
from river_core.errors import (
    AmbientTransactionError,
    AwaitedTransactionError,
    OtherDatabaseError,
    RejectedValueError,
)
from river_core.insert import EncodedArgs, InsertManyParams, InsertParams
from river_core.plugins import Plugin
from tests.conformance.applications import engine, engine_url, on_other_databases, other_url
from tests.conformance.raw_connections import count_jobs

ARGS = EncodedArgs("some_kind", "{}")


class Base(orm.DeclarativeBase):
    """The application's tables."""


class Order(Base):
    """A row of the application's own."""

    __tablename__ = "orders"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)


@pytest.fixture
def bind(request: pytest.FixtureRequest, driver: Driver, database_url: str) -> Iterator[sqlalchemy.Engine]:
    """An engine on River's database, with a table of the application's."""
    with engine(database_url, request.param) as made:
        Base.metadata.create_all(made)
        yield made


blocking = pytest.mark.parametrize(
    ("database_url", "bind"),
    [
        pytest.param("postgres", "psycopg", marks=pytest.mark.postgres),
        pytest.param("postgres", "psycopg2", marks=pytest.mark.postgres),
        ("sqlite", ""),
    ],
    indirect=True,
)
"""Runs a test of blocking sessions on both libraries for Postgres, and on SQLite."""


@pytest.fixture
def sessions(bind: sqlalchemy.Engine) -> sessionmaker[Session]:
    """A watched sessionmaker."""
    made = sessionmaker(bind)
    watch(made)
    watch(made)
    return made


def orders(bind: sqlalchemy.Engine) -> int:
    """Return how many orders are committed."""
    with bind.connect() as connection:
        return int(connection.execute(sqlalchemy.text("SELECT count(*) FROM orders")).scalar_one())


class TestWatched:
    """`watch` joins an open session without a block."""

    @blocking
    def test_the_order_and_the_job_live_or_die_together(
        self, driver: Driver, bind: sqlalchemy.Engine, sessions: sessionmaker[Session]
    ) -> None:
        """O48. Also where nothing was sent to the database before the insert."""
        client = Client(driver)

        def sell_and_fail() -> None:
            with sessions.begin() as session:
                session.add(Order())
                client.insert(ARGS)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            sell_and_fail()
        assert (count_jobs(driver), orders(bind)) == (0, 0)
        with sessions.begin() as session:
            session.add(Order())
            job = client.insert(ARGS).job
            assert client.job_get(job.id) == job
            assert count_jobs(driver) == 0
        assert (count_jobs(driver), orders(bind)) == (1, 1)

    @blocking
    def test_a_session_closed_without_commit_leaves_no_job(
        self, driver: Driver, sessions: sessionmaker[Session]
    ) -> None:
        """O48. Its transaction is rolled back; the next insert is on its own."""
        with sessions() as session:
            session.add(Order())
            Client(driver).insert(ARGS)
        assert count_jobs(driver) == 0
        Client(driver).insert(ARGS)
        assert count_jobs(driver) == 1

    @blocking
    def test_a_session_without_a_transaction_is_not_joined(
        self, driver: Driver, sessions: sessionmaker[Session]
    ) -> None:
        """Before its first statement and after its commit."""
        with sessions() as session:
            Client(driver).insert(ARGS)
            assert count_jobs(driver) == 1
            session.execute(sqlalchemy.text("SELECT 1"))
            session.commit()
            Client(driver).insert(ARGS)
            assert count_jobs(driver) == 2

    @blocking
    def test_a_savepoint_takes_its_jobs_with_it(
        self, driver: Driver, sessions: sessionmaker[Session]
    ) -> None:
        """O48. Only the outer job remains, and no savepoint of ours was there."""
        client = Client(driver)
        with sessions.begin() as session:
            session.add(Order())
            outer = client.insert(ARGS).job
            with session.begin_nested() as savepoint:
                client.insert(ARGS)
                savepoint.rollback()
        assert count_jobs(driver) == 1
        assert client.job_get(outer.id).id == outer.id

    @blocking
    def test_only_the_watched_sessions_are_joined(self, driver: Driver, bind: sqlalchemy.Engine) -> None:
        """Watching one sessionmaker says nothing about others."""
        watch(sessionmaker(bind))
        with Session(bind) as session:
            session.add(Order())
            assert watched() == []

    @blocking
    def test_a_scoped_session_is_watched(self, driver: Driver, bind: sqlalchemy.Engine) -> None:
        """As Flask applications have it; it can be joined by name too."""
        scoped = orm.scoped_session(sessionmaker(bind))
        watch(scoped)
        scoped.add(Order())
        Client(driver).insert(ARGS)
        Client(driver).insert_tx(scoped, ARGS)
        assert count_jobs(driver) == 0
        scoped.commit()
        assert count_jobs(driver) == 2
        scoped.remove()

    @blocking
    def test_neither_threads_nor_tasks_inherit_the_session(self, sessions: sessionmaker[Session]) -> None:
        """A copied context brings the variable along, and it does not count there."""
        found: list[Any] = []

        async def child() -> None:
            found.append(watched())

        async def parent() -> None:
            with sessions() as session:
                session.add(Order())
                assert watched() == [session]
                await asyncio.create_task(child())
                await asyncio.to_thread(lambda: found.append(watched()))

        asyncio.run(parent())
        with sessions() as session:
            session.add(Order())
            thread = threading.Thread(
                target=contextvars.copy_context().run, args=[lambda: found.append(watched())]
            )
            thread.start()
            thread.join()
            assert watched() == [session]
        assert found == [[], [], []]
        assert watched() == []

    @blocking
    def test_the_session_is_not_kept_alive(self, sessions: sessionmaker[Session]) -> None:
        """One that the application forgot is gone."""
        session = sessions()
        session.add(Order())
        assert watched() == [session]
        del session
        gc.collect()
        assert watched() == []

    @blocking
    def test_an_autocommit_engine_has_no_transaction_to_join(
        self, driver: Driver, bind: sqlalchemy.Engine
    ) -> None:
        """SQLAlchemy says that it has; the library's connection knows better."""
        made = sessionmaker(bind.execution_options(isolation_level="AUTOCOMMIT"))
        watch(made)
        with made() as session:
            session.connection()
            assert session.in_transaction()
            assert driver.ambient() is None
            Client(driver).insert(ARGS)
            assert count_jobs(driver) == 1

    @blocking
    def test_a_session_that_failed_is_refused(self, driver: Driver, sessions: sessionmaker[Session]) -> None:
        """It waits for its rollback, after which inserts work again."""
        with sessions() as session:
            session.add_all([Order(id=1), Order(id=2), Order(id=1)])
            with pytest.raises(sqlalchemy.exc.IntegrityError):
                session.flush()
            with pytest.raises(AmbientTransactionError):
                Client(driver).insert(ARGS)
            session.rollback()
            session.add(Order())
            Client(driver).insert(ARGS)
            session.commit()
        assert count_jobs(driver) == 1


class TestOtherDatabase:
    """The application's database is not River's."""

    @pytest.fixture
    def elsewhere(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sessionmaker[Session]]:
        """Watched sessions on another database."""
        database, library = request.param
        with engine(other_url(request, database, tmp_path), library) as made:
            Base.metadata.drop_all(made)
            Base.metadata.create_all(made)
            found = sessionmaker(made)
            watch(found)
            yield found

    @on_other_databases("elsewhere")
    def test_a_joined_session_is_refused(self, driver: Driver, elsewhere: sessionmaker[Session]) -> None:
        """The row cannot be part of its transaction."""
        with elsewhere() as session, join(session), pytest.raises(OtherDatabaseError):
            Client(driver).insert(ARGS)
        with elsewhere() as session, pytest.raises(OtherDatabaseError):
            Client(driver).insert_tx(session, ARGS)

    @on_other_databases("elsewhere")
    def test_a_watched_session_delays_the_row_until_its_commit(
        self, driver: Driver, elsewhere: sessionmaker[Session], caplog: pytest.LogCaptureFixture
    ) -> None:
        """O46. With one warning; a rollback drops it. Reads do not care."""
        client = Client(driver)
        known = client.insert(ARGS).job
        with caplog.at_level(logging.WARNING), elsewhere() as session:
            for _ in range(2):
                session.add(Order())
                assert client.insert(ARGS).job.id == 0
                assert client.job_get(known.id) == known
                assert count_jobs(driver) == 1
                session.rollback()
            session.add(Order())
            client.insert_many([InsertManyParams(ARGS), InsertManyParams(ARGS)])
            session.commit()
            assert session.query(Order).count() == 1
        assert count_jobs(driver) == 3
        assert [record.message for record in caplog.records if "another database" in record.message] == [
            caplog.records[0].message
        ]

    @blocking
    @on_other_databases("elsewhere")
    def test_the_newest_session_on_rivers_database_is_joined(
        self, driver: Driver, sessions: sessionmaker[Session], elsewhere: sessionmaker[Session]
    ) -> None:
        """O46. Whatever else is open around it."""
        with sessions() as ours, elsewhere() as other:
            ours.add(Order())
            other.add(Order())
            assert Client(driver).insert(ARGS).job.id > 0
            ours.commit()
        assert count_jobs(driver) == 1


class TestAfterCommit:
    """`enqueue="after_commit"`."""

    @blocking
    def test_the_row_comes_with_the_commit_and_not_with_a_rollback(
        self, driver: Driver, sessions: sessionmaker[Session]
    ) -> None:
        """On a connection of our own; several inserts keep their order."""
        client = Client(driver)
        with sessions() as session:
            session.add(Order())
            client.insert(ARGS, enqueue="after_commit")
            session.rollback()
            session.add(Order())
            for number in range(3):
                client.insert(EncodedArgs("some_kind", f'{{"n":{number}}}'), enqueue="after_commit")
            assert count_jobs(driver) == 0
            session.commit()
            assert [client.job_get(number).args["n"] for number in (1, 2, 3)] == [0, 1, 2]
            session.add(Order())
            session.commit()
        assert count_jobs(driver) == 3

    @blocking
    def test_a_savepoint_that_rolls_back_drops_its_rows(
        self, driver: Driver, sessions: sessionmaker[Session]
    ) -> None:
        """And the release of one is no commit."""
        client = Client(driver)
        with sessions() as session:
            session.add(Order())
            client.insert(ARGS, enqueue="after_commit")
            with session.begin_nested() as savepoint:
                client.insert(ARGS, enqueue="after_commit")
                savepoint.rollback()
            with session.begin_nested():
                client.insert(ARGS, enqueue="after_commit")
            assert count_jobs(driver) == 0
            session.commit()
        assert count_jobs(driver) == 2

    def test_it_is_at_once_where_nothing_is_open(self, driver: Driver) -> None:
        """There is nothing to wait for."""
        assert Client(driver).insert(ARGS, enqueue="after_commit").job.id == 1

    @blocking
    def test_every_row_is_tried_and_the_first_error_raised(
        self, driver: Driver, sessions: sessionmaker[Session]
    ) -> None:
        """The session itself is committed and usable."""
        client = Client(driver)
        with sessions() as session:
            session.add(Order())
            client.insert_params([InsertParams("some_kind", "no json")], enqueue="after_commit")
            client.insert(ARGS, enqueue="after_commit")
            with pytest.raises(RejectedValueError):
                session.commit()
            assert count_jobs(driver) == 1
            assert session.query(Order).count() == 1

    @blocking
    def test_a_connection_without_the_event_is_refused_by_name(
        self, driver: Driver, bind: sqlalchemy.Engine, tmp_path: Path
    ) -> None:
        """SQLAlchemy's Connection and the database libraries' own do not tell of a commit."""
        client = Client(driver)
        with (
            bind.connect() as connection,
            join(connection),
            pytest.raises(AmbientTransactionError, match=r"sqlalchemy.*Connection.*Session"),
        ):
            client.insert(ARGS, enqueue="after_commit")
        plain = sqlite3.connect(tmp_path / "plain.sqlite3")
        with join(plain), pytest.raises(AmbientTransactionError, match=r"sqlite3\.Connection.*after_commit"):
            client.insert(ARGS, enqueue="after_commit")
        plain.close()
        assert count_jobs(driver) == 0


@asynccontextmanager
async def async_sessions(url: str) -> AsyncIterator[async_sessionmaker[AsyncSession]]:
    """Watched async sessions on River's database."""
    async_url = engine_url(url).replace("sqlite:", "sqlite+aiosqlite:")
    bind = create_async_engine(async_url, poolclass=NullPool)
    made = async_sessionmaker(bind)
    watch(made)
    try:
        async with bind.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)
        yield made
    finally:
        await bind.dispose()


Call = Callable[[Client, AsyncSession], Any]


def insert_watched(client: Client, session: AsyncSession) -> Any:
    """Insert while a watched session is open."""
    return client.insert(ARGS)


def insert_joined(client: Client, session: AsyncSession) -> Any:
    """Insert inside a block."""
    with join(session):
        return client.insert(ARGS)


def insert_named(client: Client, session: AsyncSession) -> Any:
    """Insert with the session in the call."""
    return client.insert_tx(session, ARGS)


@pytest.mark.parametrize("insert", [insert_watched, insert_joined, insert_named])
class TestAsyncSession:
    """The blocking client beside an AsyncSession: rows wait for its commit, and are part of it."""

    def test_a_commit_takes_the_row_along(self, driver: Driver, database_url: str, insert: Call) -> None:
        """O48. It is written just before, in the same transaction; a rollback drops it."""

        async def scenario() -> None:
            async with async_sessions(database_url) as sessions, sessions() as session:
                session.add(Order())
                assert insert(Client(driver), session).job.id == 0
                await session.rollback()
                session.add(Order())
                insert(Client(driver), session)
                await session.flush()
                assert count_jobs(driver) == 0
                await session.commit()
                assert count_jobs(driver) == 1
                await session.rollback()

        asyncio.run(scenario())
        assert count_jobs(driver) == 1

    def test_a_savepoint_that_rolls_back_drops_its_row(
        self, driver: Driver, database_url: str, insert: Call
    ) -> None:
        """O48. The outer row stays, also through the release of an inner savepoint."""

        async def scenario() -> None:
            async with async_sessions(database_url) as sessions, sessions() as session:
                session.add(Order())
                insert(Client(driver), session)
                savepoint = await session.begin_nested()
                insert(Client(driver), session)
                async with session.begin_nested():
                    insert(Client(driver), session)
                await savepoint.rollback()
                await session.commit()

        asyncio.run(scenario())
        assert count_jobs(driver) == 1

    def test_plugins_run_when_the_row_is_written(
        self, driver: Driver, database_url: str, insert: Call
    ) -> None:
        """Just before the commit, not in the call; what a hook inserts is in the same transaction."""
        seen: list[str] = []

        class Following(Plugin):
            def insert_begin(self, params: InsertParams) -> None:
                seen.append(params.kind)
                assert Client(driver).insert(EncodedArgs("follow_up", "{}")).job.id > 0

        async def scenario() -> None:
            async with async_sessions(database_url) as sessions, sessions() as session:
                session.add(Order())
                insert(Client(driver, plugins=[Following()]), session)
                assert seen == []
                await session.commit()

        asyncio.run(scenario())
        assert seen == ["some_kind"]
        assert count_jobs(driver) == 2

    def test_a_refused_row_fails_the_commit(self, driver: Driver, database_url: str, insert: Call) -> None:
        """Neither the order nor the job exists then."""

        async def scenario() -> None:
            async with async_sessions(database_url) as sessions, sessions() as session:
                session.add(Order())
                insert(Client(driver), session)
                with join(session):
                    Client(driver).insert_params([InsertParams("some_kind", "no json")])
                with pytest.raises(RejectedValueError):
                    await session.commit()
                await session.rollback()
                assert (await session.scalars(sqlalchemy.select(Order))).all() == []

        asyncio.run(scenario())
        assert count_jobs(driver) == 0


class TestRunSync:
    """Inside `run_sync` an async session is like a blocking one."""

    def test_the_row_is_written_at_once(self, driver: Driver, database_url: str) -> None:
        """With its id, in the session's transaction."""

        async def scenario() -> None:
            async with async_sessions(database_url) as sessions, sessions.begin() as session:
                job = await session.run_sync(lambda sync: Client(driver).insert_tx(sync, ARGS).job)
                assert job.id == 1
                assert await session.run_sync(lambda _: Client(driver).job_get(1)) == job
                assert count_jobs(driver) == 0

        asyncio.run(scenario())
        assert count_jobs(driver) == 1

    def test_what_cannot_wait_is_refused_outside(self, driver: Driver, database_url: str) -> None:
        """The text says where to call it."""

        async def scenario() -> None:
            async with async_sessions(database_url) as sessions, sessions() as session:
                session.add(Order())
                with pytest.raises(AwaitedTransactionError, match="run_sync"):
                    Client(driver).job_cancel(1)

        asyncio.run(scenario())

    def test_after_commit_works_with_async_sessions(self, driver: Driver, database_url: str) -> None:
        """On a connection of our own."""

        async def scenario() -> None:
            async with async_sessions(database_url) as sessions, sessions() as session:
                session.add(Order())
                Client(driver).insert(ARGS, enqueue="after_commit")
                await session.rollback()
                session.add(Order())
                Client(driver).insert(ARGS, enqueue="after_commit")
                await session.commit()

        asyncio.run(scenario())
        assert count_jobs(driver) == 1
