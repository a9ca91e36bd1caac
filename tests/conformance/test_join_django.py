"""Django: an alias's atomic blocks, savepoints, TestCase, coroutines, other aliases."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import unittest
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import (
    AmbientTransactionError,
    ConfigurationError,
    MissingSchemaError,
    OtherDatabaseError,
    RejectedValueError,
)
from river_core.insert import EncodedArgs, InsertParams
from tests import django_settings
from tests.conformance.applications import other_url
from tests.conformance.raw_connections import count_jobs, fetch
from tests.databases import migrate, with_database

django_settings.configure()

from asgiref.sync import sync_to_async  # noqa: E402 - Django is set up first
from django.db import DatabaseError, connection, connections, transaction  # noqa: E402
from django.test import TestCase, override_settings  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from river_core.ambient import join  # noqa: E402
from river_core.drivers.django import DjangoDriver  # noqa: E402

ARGS = EncodedArgs("some_kind", "{}")


@pytest.fixture
def alias(driver: Driver, database_url: str) -> Iterator[str]:
    """The default alias, on River's database."""
    with django_settings.alias("default", database_url) as name:
        yield name


@pytest.fixture
def django_driver(alias: str) -> Iterator[DjangoDriver]:
    """A driver for it."""
    with closing(DjangoDriver()) as made:
        yield made


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A second alias, on a database of its own: another one on Postgres, or a SQLite file."""
    with django_settings.alias("other", other_url(request, request.param, tmp_path)) as name:
        yield name


class TestAtomic:
    """`DjangoDriver` joins the alias's open transaction."""

    def test_an_atomic_block_decides(self, driver: Driver, django_driver: DjangoDriver) -> None:
        """The job is written with its commit and gone with its rollback; reads see it."""
        client = Client(django_driver)

        def sell_and_fail() -> None:
            with transaction.atomic():
                client.insert(ARGS)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            sell_and_fail()
        assert count_jobs(driver) == 0
        with transaction.atomic():
            job = client.insert(ARGS).job
            assert client.job_get(job.id) == job
            assert count_jobs(driver) == 0
        assert client.job_get(job.id) == job
        assert client.job_cancel(job.id).state == "cancelled"

    def test_outside_a_block_the_row_is_there_at_once(
        self, driver: Driver, django_driver: DjangoDriver
    ) -> None:
        """On a connection of our own, made from the alias's settings; so is one that passes the block by."""
        Client(django_driver).insert(ARGS)
        assert count_jobs(driver) == 1

    @pytest.mark.postgres
    def test_enqueue_own_passes_the_block_by(self, postgres_driver: Driver, postgres_url: str) -> None:
        """O45. For what must go out although the work is rolled back."""
        with (
            django_settings.alias("default", postgres_url),
            closing(DjangoDriver()) as django_driver,
            transaction.atomic(),
        ):
            Client(django_driver).insert(ARGS, enqueue="own")
            transaction.set_rollback(True)
        assert count_jobs(postgres_driver) == 1

    def test_a_savepoint_takes_its_job_with_it(self, driver: Driver, django_driver: DjangoDriver) -> None:
        """Only the outer job remains."""
        client = Client(django_driver)
        with transaction.atomic():
            outer = client.insert(ARGS).job
            with transaction.atomic():
                client.insert(ARGS)
                transaction.set_rollback(True)
        assert count_jobs(driver) == 1
        assert client.job_get(outer.id) == outer

    def test_a_block_that_failed_is_refused(self, driver: Driver, django_driver: DjangoDriver) -> None:
        """It can only be left."""
        with transaction.atomic():
            transaction.set_rollback(True)
            with pytest.raises(AmbientTransactionError, match="atomic block"):
                Client(django_driver).insert(ARGS)
        assert count_jobs(driver) == 0

    def test_a_refused_value_is_rivers_error(self, driver: Driver, django_driver: DjangoDriver) -> None:
        """Chained to Django's, which is chained to the library's."""

        def insert_nonsense() -> None:
            with transaction.atomic():
                Client(django_driver).insert_params([InsertParams("some_kind", "no json")])

        with pytest.raises(RejectedValueError) as caught:
            insert_nonsense()
        assert isinstance(caught.value.__cause__, DatabaseError)
        assert count_jobs(driver) == 0

    def test_statements_are_in_djangos_log(self, driver: Driver, django_driver: DjangoDriver) -> None:
        """As `assertNumQueries` and debug toolbars count them: one insert is one statement on Postgres."""
        with transaction.atomic(), CaptureQueriesContext(connections["default"]) as queries:
            Client(django_driver).insert(ARGS)
        assert "INSERT INTO river_job" in queries.captured_queries[0]["sql"]

    def test_a_plain_driver_joins_the_connection_by_name(self, driver: Driver, alias: str) -> None:
        """Django's own connection object, or its proxy, in `join` and `insert_tx`."""
        client = Client(driver)
        with transaction.atomic():
            client.insert_tx(connections[alias], ARGS)
            with join(connection):
                client.insert(ARGS)
            assert count_jobs(driver) == 0
        assert count_jobs(driver) == 2

    def test_another_thread_has_a_connection_of_its_own(
        self, driver: Driver, django_driver: DjangoDriver
    ) -> None:
        """Which is in no transaction."""
        if driver.sql.dialect == "sqlite":
            with transaction.atomic():
                connection.cursor().execute("SELECT 1")
                thread = threading.Thread(target=Client(django_driver).insert, args=[ARGS])
                thread.start()
                thread.join()
        else:
            with transaction.atomic():
                Client(django_driver).insert(ARGS)
                thread = threading.Thread(target=Client(django_driver).insert, args=[ARGS])
                thread.start()
                thread.join()
                transaction.set_rollback(True)
        assert count_jobs(driver) == 1

    @pytest.mark.postgres
    @pytest.mark.parametrize("use_tz", [True, False])
    def test_times_are_aware_whatever_djangos_settings(
        self, postgres_driver: Driver, postgres_url: str, use_tz: bool
    ) -> None:
        """Django gives naive times of its zone without USE_TZ."""
        with (
            override_settings(USE_TZ=use_tz, TIME_ZONE="Asia/Tokyo"),
            django_settings.alias("default", postgres_url),
            closing(DjangoDriver()) as django_driver,
        ):
            with transaction.atomic():
                job = Client(django_driver).insert(ARGS).job
            assert Client(postgres_driver).job_get(job.id) == job
            assert str(job.created_at.tzinfo) == "UTC"


def test_a_testcase_rolls_jobs_back(driver: Driver, django_driver: DjangoDriver) -> None:
    """O47. The test sees what it inserted, nobody else does, and the next test starts empty."""
    client = Client(django_driver)
    seen = []

    class Checkout(TestCase):
        def test_one(self) -> None:
            job = client.insert(ARGS).job
            seen.append(client.job_get(job.id) == job)

        def test_two(self) -> None:
            with connections["default"].cursor() as cursor:
                cursor.execute("SELECT count(*) FROM river_job")
                seen.append(cursor.fetchone()[0] == 0)
            with self.captureOnCommitCallbacks(execute=True):
                client.insert(ARGS)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Checkout).run(result)
    assert result.wasSuccessful(), result.errors
    assert seen == [True, True]
    assert count_jobs(driver) == 0


class TestCoroutines:
    """Django's database code is reached through `sync_to_async`, and so is a block's insert."""

    def test_thread_sensitive_calls_share_the_transaction(
        self, driver: Driver, django_driver: DjangoDriver
    ) -> None:
        """The insert joins the block that surrounds it in the same call."""

        def sell() -> int:
            with transaction.atomic():
                job = Client(django_driver).insert(ARGS).job
                assert count_jobs(driver) == 0
            connections["default"].close()
            del connections["default"]  # the thread outlives the test
            return job.id

        assert asyncio.run(sync_to_async(sell, thread_sensitive=True)()) == 1
        assert count_jobs(driver) == 1

    def test_a_direct_call_in_a_coroutine_is_refused(self, driver: Driver, alias: str) -> None:
        """Django forbids it; the text says how to call it."""

        async def scenario() -> None:
            Client(driver).insert_tx(connections["default"], ARGS)

        with pytest.raises(AmbientTransactionError, match="thread_sensitive=True"):
            asyncio.run(scenario())
        assert count_jobs(driver) == 0


class TestOtherAlias:
    """Another alias has the transaction."""

    def test_the_row_waits_for_the_other_aliass_commit(
        self,
        driver: Driver,
        django_driver: DjangoDriver,
        other: str,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """O46. With one warning; a rollback drops it."""
        client = Client(django_driver)
        with caplog.at_level(logging.WARNING):
            with transaction.atomic(using=other):
                assert client.insert(ARGS).job.id == 0
                transaction.set_rollback(True, using=other)
            assert count_jobs(driver) == 0
            with transaction.atomic(using=other):
                client.insert(ARGS)
                assert count_jobs(driver) == 0
        assert count_jobs(driver) == 1
        assert len([record for record in caplog.records if "another database" in record.message]) == 1

    def test_rivers_alias_is_joined_where_both_are_open(
        self, driver: Driver, django_driver: DjangoDriver, other: str
    ) -> None:
        """O46. Whichever is the inner one."""
        client = Client(django_driver)
        with transaction.atomic(), transaction.atomic(using=other):
            assert client.insert(ARGS).job.id > 0
        with transaction.atomic(using=other), transaction.atomic():
            assert client.insert(ARGS).job.id > 0
            transaction.set_rollback(True)
        assert count_jobs(driver) == 1

    def test_joining_the_other_alias_is_refused(
        self, driver: Driver, django_driver: DjangoDriver, other: str
    ) -> None:
        """O46. It was asked for by name."""
        with (
            transaction.atomic(using=other),
            join(connections[other]),
            pytest.raises(OtherDatabaseError),
        ):
            Client(django_driver).insert(ARGS)

    def test_after_commit_uses_on_commit(self, driver: Driver, django_driver: DjangoDriver) -> None:
        """Outside a block it is at once; a rollback drops the row."""
        client = Client(django_driver)
        with transaction.atomic():
            assert client.insert(ARGS, enqueue="after_commit").job.id == 0
            transaction.set_rollback(True)
        with transaction.atomic():
            client.insert(ARGS, enqueue="after_commit")
            assert count_jobs(driver) == 0
        assert count_jobs(driver) == 1
        assert client.insert(ARGS, enqueue="after_commit").job.id == 2


class TestDriver:
    """What an alias must be."""

    def test_an_unknown_alias_is_refused(self) -> None:
        """By name."""
        with pytest.raises(ConfigurationError, match="nowhere"):
            DjangoDriver("nowhere")

    def test_a_database_of_another_kind_is_refused(self) -> None:
        """River lives on Postgres and SQLite."""
        with (
            django_settings.alias("default", "sqlite:///x", ENGINE="django.db.backends.dummy"),
            pytest.raises(ConfigurationError, match="Postgres or SQLite"),
        ):
            DjangoDriver()

    @pytest.mark.postgres
    def test_the_alias_may_move(
        self, postgres_driver: Driver, postgres_url: str, postgres_server: Any, tmp_path: Path
    ) -> None:
        """As Django's test runner moves it to the test database: connections of our own follow."""
        elsewhere = with_database(postgres_server.url, "template1")
        with django_settings.alias("default", elsewhere), closing(DjangoDriver()) as driver:
            with pytest.raises(MissingSchemaError):
                Client(driver).insert(ARGS)
            with django_settings.alias("default", postgres_url):
                Client(driver).insert(ARGS)
        assert count_jobs(postgres_driver) == 1

    def test_a_database_in_memory_is_reached_by_djangos_connection_alone(self) -> None:
        """As in most test runs on SQLite; there is no second connection to listen on."""
        with django_settings.alias("default", "sqlite:///:memory:"), closing(DjangoDriver()) as driver:
            with pytest.raises(ConfigurationError, match="memory"):
                driver.listen(["river_insert"])
            with transaction.atomic(), pytest.raises(MissingSchemaError):
                Client(driver).insert(ARGS)

    def test_the_json_functions_are_there_from_the_connection_on(self, tmp_path: Path) -> None:
        """The application's own SQL on River's tables needs them too."""
        with (
            django_settings.alias("default", f"sqlite:///{tmp_path}/river.sqlite3"),
            closing(DjangoDriver()),
            connections["default"].cursor() as cursor,
        ):
            cursor.execute("""SELECT json(jsonb('{"a":1}'))""")
            assert cursor.fetchone() == ('{"a":1}',)

    def test_a_schema_is_named_in_statements(self, postgres_url: str) -> None:
        """Whatever the alias's search path."""
        with django_settings.alias("default", postgres_url), closing(DjangoDriver()) as plain:
            schema = fetch(plain, "SELECT current_schema()")[0][0]
            with closing(DjangoDriver(schema=schema)) as driver:
                migrate(driver)
                with transaction.atomic():
                    connection.cursor().execute("SET LOCAL search_path = pg_catalog")
                    Client(driver).insert(ARGS)
                assert count_jobs(driver) == 1


PSYCOPG2 = """
import sys
sys.modules["psycopg"] = None  # what Django sees where only psycopg2 is installed
import django.db.backends.postgresql.base
del sys.modules["psycopg"]

from contextlib import closing
from tests import django_settings
django_settings.configure()
from django.db import connections, transaction
from river_core import Client, EncodedArgs, OtherDatabaseError, join
from river_core.drivers.django import DjangoDriver

def insert():
    return client.insert(EncodedArgs("some_kind", "{}")).job
"""
JOINING_PROGRAM = f"""{PSYCOPG2}
with django_settings.alias("default", sys.argv[1]), closing(DjangoDriver()) as driver:
    client = Client(driver)
    with transaction.atomic():
        job = insert()
        assert type(connections["default"].connection).__module__.startswith("psycopg2")
        assert client.job_get(job.id) == job
    with transaction.atomic():
        insert()
        transaction.set_rollback(True)
    assert client.job_get(job.id) == job
"""
OTHER_DATABASE_PROGRAM = f"""{PSYCOPG2}
with (
    django_settings.alias("default", sys.argv[1]),
    django_settings.alias("other", sys.argv[2]),
    closing(DjangoDriver()) as driver,
):
    client = Client(driver)
    with transaction.atomic(using="other"):
        connections["other"].cursor().execute("SELECT 1")
        assert type(connections["other"].connection).__module__.startswith(sys.argv[3])
        try:
            with join(connections["other"]):
                insert()
        except OtherDatabaseError:
            pass
        else:
            sys.exit("the other database was joined")
        assert insert().id == 0
        transaction.set_rollback(True, using="other")
    assert client.job_list().jobs == []
    with transaction.atomic(using="other"):
        assert insert().id == 0
        assert client.job_list().jobs == []
    [row] = client.job_list().jobs
    with transaction.atomic(using="other"), transaction.atomic():
        assert insert().id > row.id
"""


def run_on_psycopg2(program: str, *arguments: str) -> None:
    """Django takes psycopg 3 wherever it is installed, so a process of its own hides it."""
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.postgres
def test_django_on_psycopg2(postgres_driver: Driver, postgres_url: str) -> None:
    """A block decides there too."""
    run_on_psycopg2(JOINING_PROGRAM, postgres_url)
    assert count_jobs(postgres_driver) == 1


@pytest.mark.postgres
@pytest.mark.parametrize(("database", "module"), [("postgres", "psycopg2"), ("sqlite", "sqlite3")])
def test_django_on_psycopg2_beside_another_database(
    postgres_driver: Driver,
    postgres_url: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    database: str,
    module: str,
) -> None:
    """The row waits for that one's commit, a rollback drops it, joining it is refused."""
    run_on_psycopg2(OTHER_DATABASE_PROGRAM, postgres_url, other_url(request, database, tmp_path), module)
    assert count_jobs(postgres_driver) == 2
