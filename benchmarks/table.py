"""The table that a round of a benchmark starts from: River's schema, and a number of rows that wait."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg

from benchmarks.row import copy_rows, noop_row
from benchmarks.server import durable_server
from river_core import InsertParams, Migrator, open_driver

BATCH = 5_000


@contextmanager
def database(url: str | None) -> Iterator[str]:
    """Give the URL of a database with River's schema: the named one, or a private durable server's."""
    if url is None:
        with durable_server() as private, database(private) as made:
            yield made
        return
    driver = open_driver(url)
    Migrator(driver).migrate_up()
    driver.close()
    yield url


def fill(url: str, jobs: int) -> None:
    """Empty the table and write `jobs` rows that wait, by COPY."""
    refill(url, (noop_row() for _ in range(jobs)))


def refill(url: str, rows: Iterator[InsertParams]) -> None:
    """Empty the table, as Go's own benchmark does before a run, write the rows, and let disks settle."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("TRUNCATE river_job")
        connection.execute("VACUUM FULL river_job")
        with connection.cursor() as cursor:
            while batch := _take(rows):
                copy_rows(cursor, batch)
        connection.execute("VACUUM ANALYZE river_job")
        connection.execute("CHECKPOINT")


def _take(rows: Iterator[InsertParams]) -> Sequence[InsertParams]:
    return [row for _, row in zip(range(BATCH), rows, strict=False)]


def unfinished(url: str) -> int:
    """Return how many rows are not completed."""
    with psycopg.connect(url, autocommit=True) as connection:
        [count] = (
            connection.execute("SELECT count(*) FROM river_job WHERE state <> 'completed'").fetchone() or ()
        )
    return int(count)


def load() -> str:
    """Return how busy the machine is, for the record of a run."""
    one, five, _ = os.getloadavg()
    return f"load {one:.1f} (1 min), {five:.1f} (5 min) on {os.cpu_count()} cores"
