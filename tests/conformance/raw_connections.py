"""Connections as an application opens them: by psycopg or sqlite3 itself, without our drivers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from river_core.db.statement import Statement
from river_core.drivers.base import Driver, Row


@contextmanager
def application_connection(url: str, **options: Any) -> Iterator[Any]:
    """Open a connection with the library's own defaults; it is closed, not committed, at the end."""
    if url.startswith("sqlite:///"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), **options)) as connection:
            yield connection
    else:
        with closing(psycopg.connect(url, **options)) as connection:
            yield connection


def fetch(driver: Driver, sql: str, **parameters: Any) -> list[Row]:
    """Run a statement of the test's own on a connection of the driver."""
    with driver.connect() as connection:
        return connection.fetch(Statement("test", sql, parameters))


def count_jobs(driver: Driver) -> int:
    """Return how many jobs are committed."""
    return int(fetch(driver, "SELECT count(*) FROM river_job")[0][0])
