"""A worker process that is killed loses nothing: its jobs run on another one within seconds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from river_core import Client, EncodedArgs, JobState, open_driver
from river_core.drivers.base import Driver
from tests.databases import migrate
from tests.runtime.workers import wait_for

JOBS = 6
WORKER = textwrap.dedent(
    """
    import json, os, pathlib, sys
    from river_core import Registry, Worker, WorkerConfig, open_driver, run_worker

    url, ledger = sys.argv[1], pathlib.Path(sys.argv[2])

    def hold(job):
        with ledger.open("a") as file:
            file.write(json.dumps({"id": job.row.id, "pid": os.getpid(), "attempt": job.row.attempt}) + "\\n")
        while not (ledger.parent / "release").exists():
            job.wait_stopped(0.05)

    registry = Registry().add("hold", hold)
    config = WorkerConfig(queues={"default": 10}, fetch_cooldown=0.01, job_timeout=None)
    sys.exit(run_worker(Worker(open_driver(url), registry, config)))
    """
)


@contextmanager
def worker(url: str, ledger: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process; killed at the end if it still runs."""
    process = subprocess.Popen([sys.executable, "-c", WORKER, url, str(ledger)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def starts(ledger: Path) -> list[dict[str, int]]:
    """What the ledger says: one line for each time a body began."""
    import json

    return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []


@pytest.fixture
def migrated(database_url: str) -> Iterator[Driver]:
    """The schema, applied before any worker starts."""
    driver = open_driver(database_url)
    yield migrate(driver)
    driver.close()


def test_the_jobs_of_a_killed_worker_run_on_another(
    migrated: Driver, database_url: str, tmp_path: Path
) -> None:
    """Each runs a second time, there, with its next attempt; the crash is recorded; none is lost."""
    ledger = tmp_path / "ledger"
    client = Client(migrated)
    with worker(database_url, ledger) as victim:
        ids = {client.insert(EncodedArgs("hold", "{}")).job.id for _ in range(JOBS)}
        wait_for(lambda: len(starts(ledger)) == JOBS, "the start of all jobs")
        with worker(database_url, ledger) as survivor:
            os.kill(victim.pid, signal.SIGKILL)
            wait_for(lambda: len(starts(ledger)) == 2 * JOBS, "the second start of all jobs")
            (tmp_path / "release").touch()
            wait_for(
                lambda: all(client.job_get(item).state is JobState.COMPLETED for item in ids),
                "the end of all jobs",
            )
            survivor.send_signal(signal.SIGTERM)
            assert survivor.wait(30) == 0
    second = [entry for entry in starts(ledger) if entry["pid"] == survivor.pid]
    assert {entry["id"] for entry in second} == ids
    assert {entry["attempt"] for entry in second} == {2}
    for job_id in ids:
        job = client.job_get(job_id)
        assert (job.attempt, len(job.errors), job.metadata["river:rescue_count"]) == (2, 1, 1)
