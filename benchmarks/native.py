"""One worker process with threads and a task that does nothing; the other benchmarks run it as a child.

    python -m benchmarks.native URL --jobs 200000

It prints one line of JSON at its end: seconds, CPU seconds, and memory when it was warm and at the end.
"""

from __future__ import annotations

import json
import resource
import signal
import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import click
import psycopg

from benchmarks.row import KIND, QUEUE
from river_core import Job, Outcome, QueueConfig, Registry, Task, Worker, WorkerConfig, open_driver

WARM_SHARE = 0.1
WRITTEN = "SELECT count(*) FROM river_job WHERE state = 'running'"


class Noop(Task):
    """Does nothing; tells when the last job ran, and when each started where that is asked for."""

    kind = KIND
    kind_aliases = ("benchmark",)
    adapter = True

    def __init__(self, jobs: int, record: bool) -> None:
        """Expect `jobs` of them; 0 for as many as there will be."""
        self.jobs = jobs
        self.record = record
        self.starts: dict[int, float] = {}
        self.warm_bytes = 0
        self.all_ran = threading.Event()
        self._ran = count(1)

    def work(self, job: Job) -> Outcome | None:
        """Count the job."""
        number = next(self._ran)
        if self.record:
            self.starts[job.row.id] = time.monotonic()
        elif number == int(self.jobs * WARM_SHARE):
            self.warm_bytes = resident_bytes()
        if number == self.jobs:
            self.all_ran.set()
        return None


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def cpu_seconds() -> float:
    """Return the CPU seconds that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def wait_written(url: str) -> None:
    """Wait until the outcome of the last job is committed; asked only once all of them ran."""
    with psycopg.connect(url, autocommit=True) as connection:
        while (connection.execute(WRITTEN).fetchone() or (0,))[0]:
            time.sleep(0.005)


def drain(url: str, task: Noop, worker: Worker) -> dict[str, Any]:
    """Run all jobs; the time goes from before the worker's start to the commit of the last outcome."""
    cpu, began = cpu_seconds(), time.monotonic()
    worker.start()
    task.all_ran.wait()
    wait_written(url)
    seconds = time.monotonic() - began
    figures = {"seconds": seconds, "cpu_seconds": cpu_seconds() - cpu, "warm_bytes": task.warm_bytes}
    return {**figures, "end_bytes": resident_bytes()}


def serve(task: Noop, worker: Worker) -> dict[str, Any]:
    """Run until SIGTERM; tell when each job started, by the monotonic clock that all processes share."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    worker.start()
    print("ready", flush=True)
    cpu, began = cpu_seconds(), time.monotonic()
    stop.wait()
    return {
        "seconds": time.monotonic() - began,
        "cpu_seconds": cpu_seconds() - cpu,
        "starts": task.starts,
    }


@click.command()
@click.argument("url")
@click.option("--jobs", default=0, help="End after so many jobs; 0 for SIGTERM.")
@click.option("--queue", "queues", multiple=True, default=(QUEUE,), show_default=True)
@click.option("--max-workers", default=2_000, show_default=True)
@click.option("--cooldown", default=0.002, show_default=True)
@click.option("--poll", default=0.02, show_default=True)
@click.option("--claim-ahead", is_flag=True)
def main(
    url: str,
    jobs: int,
    queues: tuple[str, ...],
    max_workers: int,
    cooldown: float,
    poll: float,
    claim_ahead: bool,
) -> None:
    """Run one worker; the defaults are those of Go's own benchmark."""
    task = Noop(jobs, record=not jobs)
    config = WorkerConfig(
        queues={name: QueueConfig(max_workers) for name in queues},
        fetch_cooldown=cooldown,
        fetch_poll_interval=poll,
        claim_ahead=claim_ahead,
    )
    worker = Worker(open_driver(url), Registry().add(task), config)
    figures = drain(url, task, worker) if jobs else serve(task, worker)
    worker.stop()
    click.echo(json.dumps(figures))


if __name__ == "__main__":
    main()
