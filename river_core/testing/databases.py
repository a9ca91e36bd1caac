"""Databases for tests: River's tables in a schema or file of the tests' own, emptied between them."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from river_core.drivers import POSTGRES_SCHEMES, open_driver
from river_core.drivers.base import Driver
from river_core.errors import ConfigurationError, DatabaseError
from river_core.migrate import Migrator

PREFIX = "river_test_"
LOCK_TIMEOUT = "5s"


@contextmanager
def postgres_schema(url: str) -> Iterator[str]:
    """Make a schema with River's tables in a Postgres database, drop it at the end; gives its URL.

    Connections of that URL see the schema first and then `public`. Raises ConfigurationError for the URL
    of another database, DatabaseError when the schema cannot be made.
    """
    if urlsplit(url).scheme not in POSTGRES_SCHEMES:
        raise ConfigurationError(
            f"tests take a postgresql:// URL, not one of {urlsplit(url).scheme!r}; without one each test has "
            "a SQLite file of its own"
        )
    name = PREFIX + secrets.token_hex(6)  # a name cannot be a parameter of a statement
    with closing(open_driver(url)) as driver:
        _run(driver, f'CREATE SCHEMA "{name}"')
        try:
            own = _with_search_path(url, name)
            _migrate(own)
            yield own
        finally:
            _run(driver, f"SET lock_timeout = '{LOCK_TIMEOUT}'; DROP SCHEMA \"{name}\" CASCADE")


def empty(url: str) -> None:
    """Delete all rows of River's tables in a schema of `postgres_schema`; ids begin at 1 again.

    Raises AssertionError where a transaction that a test has left open does not let go of them.
    """
    with closing(open_driver(url)) as driver:
        try:
            _run(
                driver,
                f"SET lock_timeout = '{LOCK_TIMEOUT}'; "
                "TRUNCATE river_job, river_leader, river_notification, river_queue RESTART IDENTITY",
            )
        except DatabaseError as error:
            raise AssertionError(
                "River: the test has left a transaction open, so its rows cannot be deleted; roll it back, "
                f"or use the fixture river_tx ({error})"
            ) from error


def sqlite_template(directory: Path) -> Path:
    """Make a SQLite file with River's tables, to be copied for each test."""
    path = directory / "river.sqlite3"
    _migrate(sqlite_url(path))
    return path


def sqlite_copy(template: Path, directory: Path) -> str:
    """Copy the file into a test's directory and return its URL."""
    return sqlite_url(Path(shutil.copy(template, directory / "river.sqlite3")))


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file."""
    return "sqlite:///" + quote(str(path.absolute()))


@contextmanager
def transaction(url: str) -> Iterator[Any]:
    """Open a connection by psycopg or sqlite3; what happens on it is rolled back at the end."""
    with closing(_connection(url)) as connection:
        try:
            yield connection
        finally:
            connection.rollback()


def _connection(url: str) -> Any:
    if urlsplit(url).scheme in POSTGRES_SCHEMES:
        import psycopg  # only the library in use is imported

        return psycopg.connect(url)
    import sqlite3  # only the library in use is imported
    from urllib.parse import unquote

    return sqlite3.connect(unquote(urlsplit(url).path[1:]))


def _migrate(url: str) -> None:
    with closing(open_driver(url)) as driver:
        Migrator(driver).migrate_up()


def _run(driver: Driver, script: str) -> None:
    with driver.connect() as connection:
        connection.run_script(script)


def _with_search_path(url: str, schema: str) -> str:
    separator = "&" if urlsplit(url).query else "?"
    return f"{url}{separator}options={quote(f'-csearch_path={schema},public')}"
