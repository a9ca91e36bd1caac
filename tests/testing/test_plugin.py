"""The pytest plugin, in sessions of its own as an application has them."""

from __future__ import annotations

import sys
from contextlib import closing

import pytest

from river_core.client import Client
from river_core.drivers import open_driver
from river_core.drivers.base import Driver
from river_core.insert import EncodedArgs
from river_core.testing import databases
from tests.conformance.raw_connections import count_jobs, fetch

SCHEMAS = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'river\\_test\\_%'"

SUITE = """
import sqlite3

import pytest
from river_core import Client, EncodedArgs, UniqueOpts
from river_core.testing import TestWorker, require_inserted, require_not_inserted

ONE = EncodedArgs("one", "{}")


@pytest.fixture
def river_registry(river_registry):
    return river_registry.add("one", lambda job: job.record_output(job.row.priority))


@pytest.mark.parametrize("number", [1, 2])
def test_each_begins_empty(river_client, river_driver, number):
    require_not_inserted(river_driver, "one")
    assert river_client.insert(ONE, priority=number).job.id == 1


def test_in_a_transaction(river_tx, river_worker, river_driver):
    result = river_worker.work(river_tx, ONE, priority=3).require("completed")
    assert result.job.metadata["output"] == 3
    require_inserted(river_tx, "one")
    require_not_inserted(river_driver, "one")


def test_without_one(river_worker, river_client):
    river_client.insert(ONE)
    assert [result.outcome for result in river_worker.drain(None)] == ["completed"]


class TestOptions:
    @pytest.fixture
    def river_worker_options(self):
        return {"id": "mine"}

    def test_options_are_overridden(self, river_worker: TestWorker, river_tx):
        assert river_worker.work(river_tx, ONE).job.attempted_by[0].startswith("mine_")
"""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No database is named, and warnings are errors."""
    monkeypatch.delenv("RIVER_TEST_DATABASE_URL", raising=False)
    monkeypatch.setenv("PYTHONWARNINGS", "error")


def test_a_file_for_each_test(pytester: pytest.Pytester) -> None:
    """Without a setting it is SQLite, and no class of ours is taken for a test."""
    pytester.makepyfile(
        SUITE + "\n\ndef test_it_is_sqlite(river_tx):\n    assert isinstance(river_tx, sqlite3.Connection)\n"
    )
    pytester.runpytest_subprocess("-W", "error").assert_outcomes(passed=6)


@pytest.mark.postgres
@pytest.mark.parametrize("given_by", ["option", "setting", "environment"])
def test_a_schema_of_the_sessions_own(
    pytester: pytest.Pytester,
    postgres_url: str,
    postgres_driver: Driver,
    given_by: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is emptied after each test and dropped at the end; tables of `public` are seen too."""
    arguments = []
    if given_by == "option":
        arguments = ["--river-database-url", postgres_url]
    elif given_by == "setting":
        pytester.makeini(f"[pytest]\nriver_database_url = {postgres_url}\n")
    else:
        monkeypatch.setenv("RIVER_TEST_DATABASE_URL", postgres_url)
    in_public = (
        "\n\ndef test_the_path(river_tx):\n"
        "    [path] = river_tx.execute('SHOW search_path').fetchone()\n"
        "    assert path.startswith('river_test_')\n"
        "    assert path.endswith(',public')\n"
    )
    pytester.makepyfile(SUITE + in_public)
    pytester.runpytest_subprocess("-W", "error", *arguments).assert_outcomes(passed=6)
    assert fetch(postgres_driver, SCHEMAS)[0][0] == 0


@pytest.mark.postgres
def test_what_cannot_be_used_is_named(pytester: pytest.Pytester, postgres_url: str) -> None:
    """A URL of something else, a server that is not there, and a transaction that was left open."""
    pytester.makepyfile("def test_one(river_client):\n    pass\n")
    result = pytester.runpytest_subprocess("--river-database-url", "sqlite:///river.db")
    result.stdout.fnmatch_lines(["*--river-database-url*a SQLite file of its own*"])
    result = pytester.runpytest_subprocess("--river-database-url", "postgresql://127.0.0.1:1/nowhere")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*--river-database-url*"])


@pytest.mark.postgres
def test_an_open_transaction_keeps_its_rows(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test that left it open fails, and says so; the next one begins empty once it is gone."""
    monkeypatch.setattr(databases, "LOCK_TIMEOUT", "50ms")
    with databases.postgres_schema(postgres_url) as url:
        with databases.transaction(url) as left_open:
            Client(open_driver(url)).insert_tx(left_open, EncodedArgs("one", "{}"))
            with pytest.raises(AssertionError, match="left a transaction open"):
                databases.empty(url)
            left_open.commit()
        with closing(open_driver(url)) as driver:
            assert count_jobs(driver) == 1
            databases.empty(url)
            assert count_jobs(driver) == 0


def test_it_costs_nothing_unused(pytester: pytest.Pytester) -> None:
    """A session that uses no fixture of it imports neither river_core nor a driver."""
    pytester.makepyfile(
        "import sys\n\n"
        "def test_one(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.hasplugin('river')\n"
        "    roots = {name.partition('.')[0] for name in sys.modules}\n"
        "    assert not roots & {'river_core', 'psycopg', 'sqlite3', 'sqlalchemy', 'django', 'kombu'}\n"
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_the_fixtures_describe_themselves(pytester: pytest.Pytester) -> None:
    """`pytest --fixtures` lists them."""
    result = pytester.runpytest_subprocess("--fixtures")
    for name in ("database_url", "driver", "client", "tx", "registry", "worker", "worker_options"):
        result.stdout.fnmatch_lines([f"river_{name} -- *"])


def test_the_plugin_is_that_of_this_environment() -> None:
    """The entry point that was tested is the one that is installed."""
    from importlib.metadata import entry_points

    [point] = entry_points(group="pytest11", name="river")
    assert point.load() is sys.modules["river_compat.pytest_plugin"]
