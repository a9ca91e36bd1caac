"""Whether a worker's memory stays flat: a million jobs through one process.

    python -m benchmarks.memory

Resident memory is read in the worker, after a tenth of the jobs and at the end.
"""

from __future__ import annotations

import json
import subprocess
import sys

import click

from benchmarks.table import database, fill, load, unfinished

MEGABYTE = 1_000_000


@click.command()
@click.option("--url", help="A Postgres database that may be emptied; a private durable server by default.")
@click.option("--jobs", default=1_000_000, show_default=True)
@click.option("--max-workers", default=200, show_default=True)
def main(url: str | None, jobs: int, max_workers: int) -> None:
    """Measure the growth of memory."""
    with database(url) as address:
        click.echo(f"{jobs:,} jobs; {load()}")
        fill(address, jobs)
        command = [sys.executable, "-m", "benchmarks.native", address, "--jobs", str(jobs)]
        command += ["--max-workers", str(max_workers)]
        figures = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        if left := unfinished(address):
            raise SystemExit(f"{left} jobs are not completed")
    warm, end = figures["warm_bytes"] / MEGABYTE, figures["end_bytes"] / MEGABYTE
    click.echo(f"resident when warm {warm:.1f} MB, at the end {end:.1f} MB: growth {end - warm:+.1f} MB")
    click.echo(
        f"{jobs / figures['seconds']:,.0f} jobs/s, {figures['cpu_seconds'] / jobs * 1e6:.1f} us CPU a job"
    )
    click.echo(load())


if __name__ == "__main__":
    main()
