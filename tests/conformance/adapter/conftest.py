"""One database of each kind with two adapters for the whole package; each test leaves it empty."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

from river_compat.dev_database import Postgres
from river_core.drivers.base import Driver
from river_core.drivers.psycopg import PsycopgDriver
from river_core.drivers.sqlite import SqliteDriver
from tests.conformance.adapter.process import Adapter
from tests.conformance.adapter.scene import Scene
from tests.databases import migrate, postgres_problems, session_database, sqlite_problems

NAME = "river-conformance-python-"


@pytest.fixture(scope="package")
def postgres_scene(postgres_server: Postgres) -> Iterator[Scene]:
    """Two adapters on a schema that only the search path names."""
    schema = f"conformance_{secrets.token_hex(4)}"
    with session_database(postgres_server.url) as database:
        database.connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        separator = "&" if "?" in database.url else "?"
        url = f"{database.url}{separator}options={quote(f'-csearch_path={schema}')}"
        with closing(PsycopgDriver(url)) as driver:
            yield from _scene("postgres", url, driver)


@pytest.fixture(scope="package")
def sqlite_scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Two adapters on one file."""
    path = str(tmp_path_factory.mktemp("conformance") / "river.sqlite3")
    with closing(SqliteDriver(path)) as driver:
        yield from _scene("sqlite", path, driver)


def _scene(kind: str, url: str, driver: Driver) -> Iterator[Scene]:
    numbers = iter(range(1, 10_000))
    scene = Scene(migrate(driver), lambda: Adapter(kind, url, f"{NAME}{next(numbers)}"))
    yield scene
    scene.close()


@pytest.fixture
def on_postgres(postgres_scene: Scene, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """Two adapters on Postgres and nothing in the tables."""
    yield postgres_scene
    schema = postgres_scene.execute("SELECT current_schema(), current_database()")[0]
    with postgres_scene.driver.connect() as connection:
        problems = postgres_problems(connection.raw, schema[0])
    _end(postgres_scene, problems, request)


@pytest.fixture
def on_sqlite(sqlite_scene: Scene, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """Two adapters on SQLite and nothing in the tables."""
    yield sqlite_scene
    path = sqlite_scene.execute("SELECT file FROM pragma_database_list WHERE name = 'main'")[0][0]
    _end(sqlite_scene, sqlite_problems(Path(path)), request)


def _end(scene: Scene, problems: list[str], request: pytest.FixtureRequest) -> None:
    scene.clear()
    if problems and not request.node.get_closest_marker("foreign_rows"):
        pytest.fail("rows that other River clients cannot read:\n" + "\n".join(problems), pytrace=False)


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def scene(request: pytest.FixtureRequest) -> Any:
    """Two adapters, once on each database."""
    return request.getfixturevalue(f"on_{request.param}")


@pytest.fixture
def observer(on_postgres: Scene) -> Iterator[psycopg.Connection[Any]]:
    """A connection that looks at the server."""
    with on_postgres.driver.connect() as connection:
        yield connection.raw
