"""Fixtures for the tests of applications; pytest loads this wherever the package is installed.

So nothing is imported here: neither a driver nor river_core itself, before a fixture is used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from river_core import Client, Registry
    from river_core.drivers.base import Driver
    from river_core.testing import TestWorker

OPTION = "river_database_url"
ENVIRONMENT = "RIVER_TEST_DATABASE_URL"
HELP = "Postgres URL for the river_ fixtures, which make a schema of their own there (default: SQLite files)"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting that name a Postgres."""
    parser.getgroup("river").addoption("--river-database-url", dest=OPTION, metavar="URL", help=HELP)
    parser.addini(OPTION, HELP)


def postgres_url(config: pytest.Config) -> str:
    """Return the Postgres that the session was told of, or ""."""
    return config.getoption(OPTION) or config.getini(OPTION) or os.environ.get(ENVIRONMENT, "")


@pytest.fixture(scope="session")
def _river_schema_url(pytestconfig: pytest.Config) -> Iterator[str]:
    """URL of the session's own schema on the Postgres that was named."""
    from river_core.errors import ConfigurationError, DatabaseError
    from river_core.testing.databases import postgres_schema

    try:
        with postgres_schema(postgres_url(pytestconfig)) as url:
            yield url
    except (ConfigurationError, DatabaseError) as error:
        pytest.fail(
            f"the database of --river-database-url, {OPTION} or {ENVIRONMENT}: {error}", pytrace=False
        )


@pytest.fixture(scope="session")
def _river_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with River's tables."""
    from river_core.testing.databases import sqlite_template

    return sqlite_template(tmp_path_factory.mktemp("river"))


@pytest.fixture
def river_database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of a database with River's tables and no rows: a SQLite file of the test's own, or Postgres.

    On Postgres, where one is named, that is a schema of the session's own in front of `public`.
    """
    from river_core.testing import databases

    if not postgres_url(request.config):
        template = request.getfixturevalue("_river_template")
        yield databases.sqlite_copy(template, request.getfixturevalue("tmp_path"))
        return
    url = request.getfixturevalue("_river_schema_url")
    yield url
    databases.empty(url)


@pytest.fixture
def river_driver(river_database_url: str) -> Iterator[Driver]:
    """A driver for `river_database_url`."""
    from river_core import open_driver

    driver = open_driver(river_database_url)
    yield driver
    driver.close()


@pytest.fixture
def river_tx(river_database_url: str) -> Iterator[Any]:
    """A connection of psycopg or sqlite3 to `river_database_url`, rolled back at the end of the test."""
    from river_core.testing.databases import transaction

    with transaction(river_database_url) as connection:
        yield connection


@pytest.fixture
def river_client(river_driver: Driver) -> Client:
    """A client for `river_driver`; override it to have your own defaults and plugins."""
    from river_core import Client

    return Client(river_driver)


@pytest.fixture
def river_registry() -> Registry:
    """The tasks of `river_worker`: none. Override it, or add to it in the test."""
    from river_core import Registry

    return Registry()


@pytest.fixture
def river_worker_options() -> dict[str, Any]:
    """Options of WorkerConfig for `river_worker`: none. Override it."""
    return {}


@pytest.fixture
def river_worker(
    river_driver: Driver, river_registry: Registry, river_worker_options: dict[str, Any]
) -> TestWorker:
    """A test worker on `river_driver`."""
    from river_core.testing import TestWorker

    return TestWorker(river_driver, river_registry, **river_worker_options)
