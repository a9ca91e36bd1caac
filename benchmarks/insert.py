"""Inserts beside the bare statements that write the same row: one by one, in bulk, the fast way.

    python -m benchmarks.insert                     a private, durable Postgres
    python -m benchmarks.insert --url URL           any Postgres whose River schema may be filled and emptied
    python -m benchmarks.insert --rounds 20 --batch 5000 --single 200

Each round runs every way once, in changing order; singles alternate call by call. So a busy moment of the
machine hits all of them, and the ratios hold where the figures do not.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import click
import psycopg

from benchmarks.row import KIND, QUEUE, bare, bare_columns, copy_rows, noop_parameters, noop_row
from benchmarks.server import durable_server
from river_core import Client, EncodedArgs, InsertManyParams, InsertOpts, InsertParams, Migrator, open_driver

Way = Callable[[Sequence[InsertParams]], object]
OPTIONS = InsertOpts(queue=QUEUE)
COMPARED = (
    ("insert", "bare INSERT, prepared"),
    ("insert_many", "bare unnest"),
    ("insert_many", "bare COPY"),
    ("insert_many_fast", "bare COPY"),
)


def ways(client: Client, connection: psycopg.Connection[Any]) -> tuple[dict[str, Way], dict[str, Way]]:
    """Return what inserts one row, and what inserts many, by name."""
    insert, unnest = bare("insert"), bare("insert_unnest")
    single: dict[str, Way] = {
        "bare INSERT, prepared": lambda rows: connection.execute(
            insert, noop_parameters(rows[0]), prepare=True
        ).fetchone(),
        "insert": lambda rows: client.insert(EncodedArgs(KIND, rows[0].encoded_args), OPTIONS),
    }
    many: dict[str, Way] = {
        "bare COPY": lambda rows: copy_rows(connection.cursor(), rows),
        "bare unnest": lambda rows: connection.execute(unnest, bare_columns(rows)).fetchall(),
        "insert_many": lambda rows: client.insert_many(_jobs(rows)),
        "insert_many_fast": lambda rows: client.insert_many_fast(_jobs(rows)),
    }
    return single, many


def _jobs(rows: Sequence[InsertParams]) -> list[InsertManyParams]:
    """What an application makes for a bulk insert is part of what is measured."""
    return [InsertManyParams(EncodedArgs(KIND, row.encoded_args), OPTIONS) for row in rows]


def measure(url: str, rounds: int, single_count: int, batch: int) -> dict[str, list[float]]:
    """Return the rows a second of each way, one figure a round."""
    figures: dict[str, list[float]] = {}
    driver = open_driver(url)
    Migrator(driver).migrate_up()
    client = Client(driver)
    with psycopg.connect(url, autocommit=True) as connection:
        single, many = ways(client, connection)
        for _ in range(rounds + 1):  # the first one warms up
            for name, seconds in (*_singles(single, single_count), *_batches(many, batch)):
                figures.setdefault(name, []).append(1 / seconds)
            connection.execute("TRUNCATE river_job")
    driver.close()
    return {name: found[1:] for name, found in figures.items()}


def _singles(single: dict[str, Way], count: int) -> list[tuple[str, float]]:
    seconds: dict[str, list[float]] = {name: [] for name in single}
    for _ in range(count):
        for name in random.sample(list(single), len(single)):
            seconds[name].append(_timed(single[name], [noop_row()]))
    return [(name, statistics.median(found)) for name, found in seconds.items()]


def _batches(many: dict[str, Way], size: int) -> list[tuple[str, float]]:
    return [
        (name, _timed(many[name], [noop_row() for _ in range(size)]) / size)
        for name in random.sample(list(many), len(many))
    ]


def _timed(way: Way, rows: Sequence[InsertParams]) -> float:
    started = time.perf_counter()
    way(rows)
    return time.perf_counter() - started


def report(figures: dict[str, list[float]]) -> None:
    """Print medians, the best round, and how many times the time of the bare statement each takes."""
    for name, found in figures.items():
        click.echo(f"{name:24} {statistics.median(found):>10,.0f} rows/s   best {max(found):>10,.0f}")
    click.echo("time beside the bare statement, median of the rounds' ratios:")
    for name, beside in COMPARED:
        ratios = [theirs / ours for ours, theirs in zip(figures[name], figures[beside], strict=True)]
        click.echo(f"{name:24} {statistics.median(ratios):>6.2f} x {beside}")


@click.command()
@click.option("--url", help="The database; a private durable Postgres by default.")
@click.option("--rounds", default=10, show_default=True)
@click.option("--single", default=200, show_default=True, help="Single inserts a round.")
@click.option("--batch", default=5_000, show_default=True, help="Rows of one bulk insert.")
def main(url: str | None, rounds: int, single: int, batch: int) -> None:
    """Measure single, bulk and fast inserts."""
    if url is not None:
        report(measure(url, rounds, single, batch))
        return
    with durable_server() as private:
        report(measure(private, rounds, single, batch))


if __name__ == "__main__":
    main()
