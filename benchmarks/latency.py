"""How soon a job starts that is inserted while a worker is idle.

    python -m benchmarks.latency
    python -m benchmarks.latency --cooldown 0.1

The worker is a process of its own with the pacing of `river-compat worker`. With River's cool-down of 0.1 s
a job waits for it that comes right after a poll, as in Go: one in ten. The time goes from the moment at which
the producer sends COMMIT to the start of the task, by the monotonic clock that both processes share, and so
holds the commit itself; the second line goes from the moment at which COMMIT has returned.
"""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass
from typing import Any

import click
import psycopg

from benchmarks.child import idle_worker
from benchmarks.row import noop_row
from benchmarks.table import database, fill, load
from river_core import Client, join, open_driver

SETTLE_SECONDS = 2.0
PAUSES = (0.15, 0.45)
"""Between two jobs the worker is idle again; the spread meets every moment of its polling."""


@dataclass(frozen=True, slots=True)
class Commit:
    """When the transaction of one job was committed."""

    job_id: int
    sent: float
    returned: float


def insert(client: Client, connection: psycopg.Connection[Any]) -> Commit:
    """Insert one job in a transaction of its own."""
    with join(connection):
        [result] = client.insert_params([noop_row()])
    sent = time.monotonic()
    connection.commit()
    return Commit(result.job.id, sent, time.monotonic())


def measure(url: str, jobs: int, cooldown: float) -> tuple[list[float], list[float]]:
    """Return the seconds to the start from COMMIT's sending, and from its return."""
    fill(url, 0)
    driver = open_driver(url)
    with idle_worker(url, cooldown) as worker, psycopg.connect(url) as connection:
        time.sleep(SETTLE_SECONDS)
        commits, client = [], Client(driver)
        for _ in range(jobs):
            commits.append(insert(client, connection))
            time.sleep(random.uniform(*PAUSES))  # noqa: S311 - spacing, no secret
        starts = {int(job_id): at for job_id, at in worker.end()["starts"].items()}
    driver.close()
    return (
        [starts[commit.job_id] - commit.sent for commit in commits],
        [max(starts[commit.job_id] - commit.returned, 0.0) for commit in commits],
    )


def show(name: str, seconds: list[float]) -> None:
    """Print quantiles in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    parts = {"p50": cuts[49], "p90": cuts[89], "p99": cuts[98], "max": max(seconds)}
    click.echo(f"{name}: " + "  ".join(f"{part} {value * 1000:.2f} ms" for part, value in parts.items()))


@click.command()
@click.option("--url", help="A Postgres database that may be emptied; a private durable server by default.")
@click.option("--jobs", default=300, show_default=True)
@click.option("--cooldown", default=0.001, show_default=True, help="The worker's fetch_cooldown in seconds.")
def main(url: str | None, jobs: int, cooldown: float) -> None:
    """Measure the idle latency."""
    with database(url) as address:
        click.echo(f"{jobs} jobs, cool-down {cooldown:g} s; {load()}")
        sent, returned = measure(address, jobs, cooldown)
        show("from sending COMMIT to start  ", sent)
        show("from the end of COMMIT to start", returned)
        click.echo(load())


if __name__ == "__main__":
    main()
