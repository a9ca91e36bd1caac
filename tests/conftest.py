"""Fixtures that every tier shares: databases, drivers on them, a Redis.

`postgres_url` and `sqlite_path` are empty databases of the test's own; `postgres_driver` and
`sqlite_driver` stand on them with River's schema applied. `database_url` and `driver` are the same, once
for each of the two. After each test every row that it left must keep to the protocol.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from river_compat.dev_database import Postgres, PostgresNotFoundError, find_postgres
from river_core.drivers import open_driver
from river_core.drivers.base import Driver
from river_core.drivers.psycopg import PsycopgDriver
from river_core.drivers.sqlite import SqliteDriver
from tests.databases import Database, folder_problems, migrate, session_database, sqlite_problems
from tests.redis_server import find_redis
from tests.requirements import missing

OTHER_DATABASES = re.compile(r"(DATABASE_URL$|RIVER_(?!TEST_|PG_|GO_)|CELERY_)")
SERVER = pytest.StashKey[Postgres]()

settings.register_profile("river", deadline=None)  # how long an example takes is no fact about the code
settings.load_profile("river")


def pytest_configure(config: pytest.Config) -> None:
    """Forget databases that the environment names for other uses; name the marker that is read here."""
    for name in [name for name in os.environ if OTHER_DATABASES.match(name)]:
        del os.environ[name]
    config.addinivalue_line(
        "markers", "foreign_rows: writes rows that break River's rules on purpose, so they are not checked"
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the long forms of tests be asked for."""
    parser.addoption("--long", action="store_true", help="run the long forms, and nothing else")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long forms to a run of their own."""
    chosen = [item for item in items if bool(item.get_closest_marker("long")) is config.getoption("--long")]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Keep lone surrogates out of captured logs: a report that goes between processes cannot hold them."""
    report = yield
    report.sections = [
        (name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections
    ]
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say which Postgres was used, and what was passed over for which reason."""
    server = config.stash.get(SERVER, None)
    if server is not None:
        terminalreporter.write_line(f"Postgres: {server.source}")
        for reason in server.passed_over:
            terminalreporter.write_line(f"  passed over {reason}")


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> Iterator[Postgres]:
    """A Postgres server whose user may create databases."""
    try:
        with find_postgres() as server:
            pytestconfig.stash[SERVER] = server
            yield server
    except PostgresNotFoundError as error:
        missing(str(error))


@pytest.fixture(scope="session")
def postgres_database(postgres_server: Postgres) -> Iterator[Database]:
    """The session's own database on it."""
    with session_database(postgres_server.url) as database:
        yield database


@pytest.fixture
def postgres_url(postgres_database: Database, request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of an empty schema (the search path points at it) in a database where the test may do anything."""
    yield postgres_database.new_schema()
    _report(postgres_database.end_test(), request)


@pytest.fixture
def postgres_driver(postgres_url: str) -> Iterator[PsycopgDriver]:
    """A driver on Postgres with River's schema applied."""
    with closing(PsycopgDriver(postgres_url)) as driver:
        migrate(driver)
        yield driver


@pytest.fixture(autouse=True)
def files_keep_the_rules(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check every SQLite file in the folder of a test that asked for one, whichever process wrote it.

    It is made first and so ends last, when everything else has closed its connections. A test that only
    asks for a database has its file checked by `sqlite_path`.
    """
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    if folder is not None:
        _report(folder_problems(folder), request)


@pytest.fixture
def sqlite_path(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Path of an empty SQLite file."""
    path = tmp_path / "river.sqlite3"
    path.touch()
    yield path
    _report(sqlite_problems(path), request)


@pytest.fixture
def sqlite_driver(sqlite_path: Path) -> Iterator[SqliteDriver]:
    """A driver on SQLite with River's schema applied."""
    with closing(SqliteDriver(sqlite_path)) as driver:
        migrate(driver)
        yield driver


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def database_url(request: pytest.FixtureRequest) -> str:
    """URL of an empty database, once on Postgres and once on SQLite."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{request.getfixturevalue('sqlite_path')}"


@pytest.fixture
def driver(database_url: str) -> Iterator[Driver]:
    """A driver with River's schema applied, once on Postgres and once on SQLite."""
    with closing(open_driver(database_url)) as opened:
        yield migrate(opened)


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """URL of a Redis database of our own; it is emptied at the end."""
    with find_redis() as url:
        yield url


def _report(problems: list[str], request: pytest.FixtureRequest) -> None:
    if problems and not request.node.get_closest_marker("foreign_rows"):
        pytest.fail("rows that other River clients cannot read:\n" + "\n".join(problems), pytrace=False)
