"""Connections to River's database as applications have them, by the library that manages them.

Each has `execute` for plain SQL, `commit`, `rollback` and `close`, and can be given to `river_core.join`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from tests import django_settings
from tests.conformance.raw_connections import application_connection


class PlainSession(Session):
    """A session that takes plain SQL too, and stays closed once it is."""

    def execute(self, statement: Any, *arguments: Any, **options: Any) -> Any:
        """Run a statement or plain SQL."""
        text = sqlalchemy.text(statement) if isinstance(statement, str) else statement
        return super().execute(text, *arguments, **options)


class PlainConnection(sqlalchemy.Connection):
    """A connection that takes plain SQL too."""

    def execute(self, statement: Any, *arguments: Any, **options: Any) -> Any:
        """Run a statement or plain SQL."""
        text = sqlalchemy.text(statement) if isinstance(statement, str) else statement
        return super().execute(text, *arguments, **options)


def engine_url(url: str, library: str = "psycopg") -> str:
    """Return a database's URL in SQLAlchemy's spelling."""
    return url.replace("postgresql://", f"postgresql+{library}://", 1)


@contextmanager
def engine(url: str, library: str = "psycopg", **options: Any) -> Iterator[sqlalchemy.Engine]:
    """An engine whose connections close when they are given back."""
    made = sqlalchemy.create_engine(engine_url(url, library), poolclass=NullPool, **options)
    try:
        yield made
    finally:
        made.dispose()


@contextmanager
def session(url: str, library: str = "psycopg") -> Iterator[Session]:
    """A session with its defaults."""
    with engine(url, library) as bind, closing(PlainSession(bind, close_resets_only=False)) as opened:
        yield opened


@contextmanager
def core_connection(url: str, library: str = "psycopg") -> Iterator[sqlalchemy.Connection]:
    """A connection without a session."""
    with engine(url, library) as bind, closing(PlainConnection(bind)) as opened:
        yield opened


@contextmanager
def django_alias(url: str) -> Iterator[Any]:
    """The connection of an alias, in a transaction that the test ends by hand."""
    with django_settings.alias("river", url, AUTOCOMMIT=False) as name:
        from django.db import connections  # needs the settings

        wrapper = connections[name]
        wrapper.execute = lambda statement: wrapper.cursor().execute(statement)
        yield wrapper


def on_other_databases(fixture: str) -> pytest.MarkDecorator:
    """Run a test once for each database and library of an application whose own database is not River's."""
    pairs = [
        pytest.param(("postgres", "psycopg"), marks=pytest.mark.postgres, id="other-postgres-psycopg"),
        pytest.param(("postgres", "psycopg2"), marks=pytest.mark.postgres, id="other-postgres-psycopg2"),
        pytest.param(("sqlite", ""), id="other-sqlite"),
    ]
    return pytest.mark.parametrize(fixture, pairs, indirect=True)


def other_url(request: pytest.FixtureRequest, database: str, folder: Path) -> str:
    """Return the URL of that other database."""
    if database == "postgres":
        return str(request.getfixturevalue("second_postgres"))
    return f"sqlite:///{folder}/other.sqlite3"


Opener = Callable[[str], AbstractContextManager[Any]]

OPENERS: dict[str, Opener] = {
    "psycopg": application_connection,
    "sqlite3": application_connection,
    "sqlalchemy-session": session,
    "sqlalchemy-session-psycopg2": lambda url: session(url, "psycopg2"),
    "sqlalchemy-connection": core_connection,
    "django": django_alias,
}
ON_POSTGRES = [name for name in OPENERS if name != "sqlite3"]
ON_SQLITE = [name for name in OPENERS if not name.startswith("psycopg") and not name.endswith("psycopg2")]


def on(*names: str) -> pytest.MarkDecorator:
    """Run a test of the fixture `application` for these libraries on each database that they reach."""
    pairs = [
        *(
            pytest.param("postgres", name, marks=pytest.mark.postgres)
            for name in names
            if name in ON_POSTGRES
        ),
        *(pytest.param("sqlite", name) for name in names if name in ON_SQLITE),
    ]
    return pytest.mark.parametrize(("database_url", "application"), pairs, indirect=True)


every_library = on(*OPENERS)
