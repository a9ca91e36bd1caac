"""How fast jobs that do nothing are worked: our worker, the bare statements, and River's own benchmark in Go.

    python -m benchmarks.work
    RIVER_GO_BENCH=/path/to/river python -m benchmarks.work --jobs 200000 --rounds 5

Contenders take turns on one private, durable server, so that all meet the same machine; what counts are the
ratios of the medians. `RIVER_GO_BENCH` names the `river` command of River's cmd/river. Go's benchmark inserts
its own, smaller rows, so our worker is measured with those as well.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from itertools import count

import click

from benchmarks import bare
from benchmarks.row import QUEUE
from benchmarks.server import reset_statements, statements
from benchmarks.table import database, fill, load, refill, unfinished
from river_core import InsertParams

GO = "Go River's bench"
GO_ROW = "ours, Go's row"
Contender = Callable[[str, int], float]


def ours(url: str, jobs: int, *options: str) -> float:
    """Run one worker process on the measured row; return jobs a second."""
    fill(url, jobs)
    return _worker(url, jobs, options)


def ours_on_go_rows(url: str, jobs: int, *options: str) -> float:
    """The same on the row that Go's benchmark inserts."""
    numbers = count()
    rows = (
        InsertParams(kind="benchmark", encoded_args=f'{{"num":{next(numbers)}}}', queue=QUEUE)
        for _ in range(jobs)
    )
    refill(url, rows)
    return _worker(url, jobs, options)


def _worker(url: str, jobs: int, options: tuple[str, ...]) -> float:
    command = [sys.executable, "-m", "benchmarks.native", url, "--jobs", str(jobs), *options]
    figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if left := unfinished(url):
        raise SystemExit(f"{left} jobs are not completed")
    return float(jobs / figures["seconds"])


def bare_on_one(url: str, jobs: int) -> float:
    """Fetch and complete in turn on one connection."""
    fill(url, jobs)
    return jobs / bare.one_connection(url)


def bare_on_two(url: str, jobs: int) -> float:
    """Fetch and complete on two connections at a time."""
    fill(url, jobs)
    return jobs / bare.two_connections(url)


def go_bench(binary: str) -> Contender:
    """Return a contender that runs River's own benchmark, which fills the table by itself."""

    def run(url: str, jobs: int) -> float:
        command = [binary, "bench", "--database-url", url, "--num-total-jobs", str(jobs)]
        result = subprocess.run(command, check=True, capture_output=True, text=True)
        match = re.search(r"overall job/sec \[ +([\d.]+) \]", result.stdout)
        if match is None:
            raise SystemExit(f"the benchmark in Go printed no overall figure: {result.stdout[-500:]}")
        return float(match.group(1))

    return run


def contenders(options: tuple[str, ...]) -> dict[str, Contender]:
    """Return who takes part, by name."""
    found: dict[str, Contender] = {
        "bare, 1 connection": bare_on_one,
        "bare, 2 connections": bare_on_two,
        "ours": lambda url, jobs: ours(url, jobs, *options),
    }
    if binary := os.environ.get("RIVER_GO_BENCH"):
        found[GO_ROW] = lambda url, jobs: ours_on_go_rows(url, jobs, *options)
        found[GO] = go_bench(binary)
    return found


def report(figures: dict[str, list[float]]) -> None:
    """Print medians and what the targets compare."""
    medians = {name: statistics.median(values) for name, values in figures.items()}
    for name, values in figures.items():
        click.echo(
            f"{name:<20} {medians[name]:>9,.0f} jobs/s   of {', '.join(f'{item:,.0f}' for item in values)}"
        )
    for name in figures:
        if name not in ("ours", GO_ROW):
            click.echo(f"ours / {name}: {medians['ours'] / medians[name]:.2f}")
    if GO_ROW in medians:
        click.echo(f"{GO_ROW} / {GO}: {medians[GO_ROW] / medians[GO]:.2f}")


@click.command()
@click.option("--url", help="A Postgres database that may be emptied; a private durable server by default.")
@click.option("--jobs", default=200_000, show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--max-workers", default=2_000, show_default=True)
@click.option("--cooldown", default=0.002, show_default=True)
@click.option("--claim-ahead", is_flag=True)
def main(
    url: str | None, jobs: int, rounds: int, max_workers: int, cooldown: float, claim_ahead: bool
) -> None:
    """Let the contenders take turns; the defaults of our worker are those of Go's benchmark."""
    options = ("--max-workers", str(max_workers), "--cooldown", str(cooldown))
    options += ("--claim-ahead",) if claim_ahead else ()
    figures: dict[str, list[float]] = {}
    with database(url) as address:
        click.echo(f"{jobs:,} jobs a round; {load()}")
        for _ in range(rounds):
            for name, contender in contenders(options).items():
                figures.setdefault(name, []).append(contender(address, jobs))
        report(figures)
        click.echo(load())
        if url is None:
            reset_statements(address)
            ours(address, jobs, *options)
            click.echo("statements of one more round of ours (calls, rows, ms in all):")
            for calls, touched, milliseconds, text in statements(address)[:12]:
                click.echo(f"{calls:>8} {touched:>9} {milliseconds:>10}  {text[:110]}")


if __name__ == "__main__":
    main()
