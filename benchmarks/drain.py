"""Bulk insert and drain of no-op Celery tasks by one real worker process.

    python -m benchmarks.drain                       a private, durable Postgres; prints its statements
    python -m benchmarks.drain --url URL             any database, `sqlite:///file` too
    python -m benchmarks.drain --jobs 50000 -c 10 --rounds 3

The time of a drain runs from the first claim to the last finish, as the rows record them: the claim by the
database's clock, the finish by the worker's, which are one machine's here.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

import click

from benchmarks.app import app, noop
from benchmarks.messages import rows
from benchmarks.server import durable_server, reset_statements, statements
from river_core import Client, Migrator, open_driver
from river_core.db.statement import Statement

BATCH = 5_000
SPAN = {
    "postgres": "SELECT count(*), extract(epoch FROM max(finalized_at) - min(attempted_at))::float8 "
    "FROM river_job WHERE state = 'completed'",
    "sqlite": "SELECT count(*), (julianday(max(finalized_at)) - julianday(min(attempted_at))) * 86400.0 "
    "FROM river_job WHERE state = 'completed'",
}


@dataclass(frozen=True, slots=True)
class Figures:
    """One round, in jobs a second; the time of commands and imports is not in them."""

    build: float
    insert: float
    drain: float


def measure(url: str, jobs: int, options: list[str]) -> Figures:
    """Insert and drain once."""
    driver = open_driver(url)
    Migrator(driver).migrate_up()
    client = Client(driver)
    started = time.perf_counter()
    made = rows(app, noop, jobs)
    built = time.perf_counter()
    for start in range(0, jobs, BATCH):
        client.insert_params(made[start : start + BATCH])
    inserted = time.perf_counter()
    size = len(made[0].encoded_args)
    click.echo(f"  one envelope: {size} bytes", err=True)
    seconds = drain(url, jobs, options, driver)
    with driver.connect() as connection:
        connection.run_script("DELETE FROM river_job")
    driver.close()
    return Figures(jobs / (built - started), jobs / (inserted - built), jobs / seconds)


def drain(url: str, jobs: int, options: list[str], driver: Any) -> float:
    """Run the worker command until every job is completed; return the seconds between first and last."""
    command = [sys.executable, "-m", "river_compat", "-A", "benchmarks.app", "worker", *options]
    worker = subprocess.Popen(command, env={**os.environ, "RIVER_DATABASE_URL": url})
    span = Statement("span", SPAN[driver.sql.dialect.value], {})
    try:
        while True:
            time.sleep(0.5)  # looks from outside, rarely, so as not to disturb what is measured
            with driver.connect() as connection:
                [(completed, seconds)] = connection.fetch(span)
            if completed >= jobs:
                return float(seconds)
            if worker.poll() is not None:
                raise SystemExit(f"the worker ended with code {worker.returncode}")
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()


def report(figures: list[Figures]) -> None:
    """Print each round and the medians."""
    for number, item in enumerate(figures, 1):
        click.echo(
            f"round {number}: build {item.build:,.0f}  insert {item.insert:,.0f}  "
            f"drain {item.drain:,.0f} jobs/s"
        )
    click.echo(
        f"median : build {statistics.median(f.build for f in figures):,.0f}  "
        f"insert {statistics.median(f.insert for f in figures):,.0f}  "
        f"drain {statistics.median(f.drain for f in figures):,.0f} jobs/s"
    )


@click.command()
@click.option("--url", help="The database; a private durable Postgres by default.")
@click.option("--jobs", default=50_000, show_default=True)
@click.option("-P", "--pool", default="threads", show_default=True)
@click.option("-c", "--concurrency", default=10, show_default=True)
@click.option("--rounds", default=3, show_default=True)
def main(url: str | None, jobs: int, pool: str, concurrency: int, rounds: int) -> None:
    """Measure bulk insert and drain."""
    options = ["-P", pool, "-c", str(concurrency)]
    click.echo(f"{jobs:,} no-op tasks, one worker process: {' '.join(options)}")
    if url is not None:
        os.environ["RIVER_DATABASE_URL"] = url
        report([measure(url, jobs, options) for _ in range(rounds)])
        return
    with durable_server() as private:
        os.environ["RIVER_DATABASE_URL"] = private
        report([measure(private, jobs, options) for _ in range(rounds)])
        reset_statements(private)
        measure(private, jobs, options)
        click.echo(f"statements of one more round of {jobs:,} jobs (calls, rows, ms in all):")
        for calls, touched, milliseconds, text in statements(private):
            click.echo(f"{calls:>8} {touched:>9} {milliseconds:>10}  {text[:110]}")


if __name__ == "__main__":
    main()
