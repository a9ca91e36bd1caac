"""The databases that tests run on: one Postgres database per session, one fresh schema per test.

Nothing of what is made here stays on the server: schemas go after each test, the database at the end
of the session, and databases of sessions that were killed are dropped by a later one.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from river_core.db.statement import Dialect, Statement
from river_core.drivers.base import Driver
from river_core.drivers.sqlite import SqliteDriver
from river_core.errors import DatabaseError
from river_core.migrate import Migrator
from tests.row_rules import POSTGRES_ROWS, SQLITE_ROWS, broken_rules

PREFIX = "river_test_"
ABANDONED_AFTER = 3600
SQLITE_SUFFIXES = {".db", ".sqlite", ".sqlite3"}
LOCK_TIMEOUT = "10s"

OLD_DATABASES = "SELECT datname FROM pg_database WHERE datname LIKE 'river\\_test\\_%'"
# Rows are checked where the table has its last column; migration tests leave older versions of it.
SCHEMAS = """
SELECT nspname, EXISTS (
    SELECT FROM information_schema.columns
    WHERE table_schema = nspname AND table_name = 'river_job' AND column_name = 'unique_states'
)
FROM pg_namespace
WHERE nspname !~ '^(pg_|information_schema$|public$)'
"""
SQLITE_HAS_JOBS = "SELECT 1 FROM pragma_table_info('river_job') WHERE name = 'unique_states'"


@dataclass(frozen=True, slots=True)
class Database:
    """The session's own database; `connection` stays open, which marks the database as in use."""

    url: str
    connection: psycopg.Connection[Any]

    def new_schema(self) -> str:
        """Create an empty schema and return a URL whose connections see it first and alone."""
        name = f"t{secrets.token_hex(6)}"
        self.connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        separator = "&" if urlsplit(self.url).query else "?"
        return f"{self.url}{separator}options={quote(f'-csearch_path={name}')}"

    def end_test(self) -> list[str]:
        """Drop every schema that a test made and return which rules their rows broke.

        Fails after a while when the test left a transaction open, which it must not.
        """
        problems = []
        for name, has_jobs in self.connection.execute(SCHEMAS).fetchall():
            try:
                if has_jobs:
                    problems += postgres_problems(self.connection, name)
            finally:
                self.connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))
        return problems


def postgres_problems(connection: psycopg.Connection[Any], schema: str) -> list[str]:
    """Return which rules the rows of a schema broke."""
    rows = connection.execute(sql.SQL(POSTGRES_ROWS).format(sql.Identifier(schema))).fetchall()
    return [f"{schema}, {problem}" for problem in broken_rules(rows, Dialect.POSTGRES)]


def sqlite_problems(path: Path) -> list[str]:
    """Return which rules the rows of a SQLite file broke; nothing where there is no such table or file."""
    if not path.exists():
        return []
    with closing(SqliteDriver(path)) as driver, driver.connect() as connection:
        if not connection.fetch(Statement("has_jobs", SQLITE_HAS_JOBS, {})):
            return []
        try:
            rows = connection.fetch(Statement("every_row", SQLITE_ROWS, {}))
        except DatabaseError as error:
            return [f"the rows cannot be read: {error}"]
        return broken_rules(rows, Dialect.SQLITE)


def folder_problems(folder: Path) -> list[str]:
    """Return which rules the rows of every SQLite file below a folder broke, each with the file's name."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in SQLITE_SUFFIXES and path.is_file())
    return [f"{path.name}, {problem}" for path in files for problem in sqlite_problems(path)]


@contextmanager
def session_database(server_url: str) -> Iterator[Database]:
    """Create a database on the server, and drop it at the end whatever still holds it."""
    name = f"{PREFIX}{int(time.time())}_{secrets.token_hex(4)}"
    with psycopg.connect(server_url, autocommit=True) as server:
        _drop_abandoned(server)
        server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    url = with_database(server_url, name)
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}'")
            connection.execute("SET client_min_messages = 'warning'")
            yield Database(url, connection)
    finally:
        with psycopg.connect(server_url, autocommit=True) as server:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def with_database(url: str, name: str) -> str:
    """Return the URL of another database on the same server."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def migrate(driver: Driver) -> Driver:
    """Apply River's whole schema and return the driver."""
    Migrator(driver).migrate_up()
    return driver


def _drop_abandoned(server: psycopg.Connection[Any]) -> None:
    """Drop databases of sessions that ended without cleaning up: old, and with nobody connected."""
    for (name,) in server.execute(OLD_DATABASES).fetchall():
        created = name.removeprefix(PREFIX).partition("_")[0]
        if created.isdigit() and time.time() - int(created) > ABANDONED_AFTER:
            with suppress(psycopg.errors.ObjectInUse, psycopg.errors.InvalidCatalogName):
                server.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))
