"""Databases and roles that a test may set up as it likes: defaults, time-outs, read-only, failing over."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from river_core.drivers.psycopg import PsycopgDriver
from tests.databases import migrate, session_database

END_SESSIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


@dataclass(frozen=True, slots=True)
class OwnDatabase:
    """A database of one test, with River's schema in `public`."""

    url: str
    connection: psycopg.Connection[Any]

    @property
    def name(self) -> str:
        """The database's name."""
        return urlsplit(self.url).path[1:]

    def run(self, text: str) -> list[tuple[Any, ...]]:
        """Run one statement of plain SQL; `{database}` stands for the database's name."""
        cursor = self.connection.execute(sql.SQL(text).format(database=sql.Identifier(self.name)))
        return cursor.fetchall() if cursor.description else []

    def end_sessions(self, where: str = "true") -> int:
        """End the other sessions of the database that fulfil a condition; return how many."""
        return len(self.run(f"{END_SESSIONS} AND {where}"))

    @contextmanager
    def role(self, *settings: str) -> Iterator[str]:
        """Give the URL for a new role that may use everything, with settings like `lock_timeout = '1s'`."""
        name, password = f"river_test_{secrets.token_hex(4)}", secrets.token_hex(8)
        role = sql.Identifier(name)
        self.connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(role, sql.Literal(password))
        )
        try:
            for setting in settings:
                self.connection.execute(sql.SQL("ALTER ROLE {} SET " + setting).format(role))
            for kind in ("TABLES", "SEQUENCES"):
                self.connection.execute(
                    sql.SQL("GRANT ALL ON ALL " + kind + " IN SCHEMA public TO {}").format(role)
                )
            parts = urlsplit(self.url)
            host = parts.netloc.rpartition("@")[2]
            yield urlunsplit(parts._replace(netloc=f"{name}:{password}@{host}"))
        finally:
            self.end_sessions(f"usename = '{name}'")
            self.connection.execute(sql.SQL("DROP OWNED BY {}").format(role))
            self.connection.execute(sql.SQL("DROP ROLE {}").format(role))


@contextmanager
def own_database(server_url: str) -> Iterator[OwnDatabase]:
    """Create a database with River's schema; it goes at the end with whatever is connected."""
    with session_database(server_url) as database:
        with closing(PsycopgDriver(database.url)) as driver:
            migrate(driver)
        yield OwnDatabase(database.url, database.connection)
