"""A private Postgres with durable commits and a record of all statements, from the machine's own programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from river_compat.dev_database import installations
from river_compat.dev_server import TemporaryServer

DURABLE = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track": "top",
}


@contextmanager
def durable_server() -> Iterator[str]:
    """Give the URL of a fresh server with Postgres' own defaults for commits; removed at the end."""
    server = TemporaryServer(first_binaries(), DURABLE)
    try:
        url = server.start()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION pg_stat_statements")
        yield url
    finally:
        server.stop()


def first_binaries() -> Path:
    """Return where the programs of Postgres are; raises SystemExit when there are none."""
    for _, directory in installations():
        if (directory / "initdb").exists():
            return directory
    raise SystemExit("no programs of Postgres were found; see river_compat.dev_database")


def reset_statements(url: str) -> None:
    """Forget all statements so far."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_stat_statements_reset()")


def statements(url: str) -> list[tuple[Any, ...]]:
    """Return (calls, rows, milliseconds in all, text) of what ran, the most called first."""
    query = """
        SELECT calls, rows, round(total_exec_time::numeric, 1), regexp_replace(query, '\\s+', ' ', 'g')
        FROM pg_stat_statements
        WHERE query NOT ILIKE '%pg_stat_statements%' ORDER BY calls DESC
    """
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(query).fetchall()
