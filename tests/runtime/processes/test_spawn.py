"""Children that are spawned: as forked ones for their jobs, but made by a function of the user."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from typing import Any

import pytest

from river_core import open_driver
from river_core.errors import ConfigurationError
from river_core.job import JobState
from river_core.task import Job
from river_core.worker.config import WorkerConfig
from river_core.worker.processes.config import ProcessConfig
from river_core.worker.worker import Worker
from tests.runtime.workers import insert, registry, row, wait_for


def say_pid(job: Job) -> None:
    """Store the process id, and say so to the database from there."""
    job.record_output(os.getpid())


def die(job: Job) -> None:
    """End the process."""
    os._exit(7)


def make(url: str, **options: Any) -> Worker:
    """The worker of these tests, in its own process and in its children."""
    processes = ProcessConfig(start_method="spawn", build=partial(make, url, **options), **options)
    config = WorkerConfig(
        queues={"default": 1}, max_workers=1, claim_ahead=True, fetch_cooldown=0.01, processes=processes
    )
    return Worker(open_driver(url), registry(pid=say_pid, die=die), config)


def test_spawned_children_are_recycled_and_die_alone(database_url: str, driver: Any) -> None:
    """Seven jobs need three children of three jobs at most; a child that dies costs its own job."""
    worker = make(database_url, max_jobs_per_child=3)
    jobs = [insert(driver, "pid") for _ in range(7)]
    poison = insert(driver, "die", max_attempts=1)
    worker.start()
    try:
        for job in [*jobs, poison]:
            wait_for(lambda job=job: row(driver, job.id).finalized_at is not None, f"the end of {job.id}")
    finally:
        worker.stop_and_cancel()
        worker.driver.close()
    pids = Counter(row(driver, job.id).metadata["output"] for job in jobs)
    assert max(pids.values()) <= 3
    assert os.getpid() not in pids
    lost = row(driver, poison.id)
    assert lost.state is JobState.DISCARDED
    assert "exit code 7" in lost.errors[0].error


def test_what_cannot_be_spawned_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="build="):
        ProcessConfig(start_method="spawn")
    with pytest.raises(ConfigurationError, match="'forkserver'"):
        ProcessConfig(start_method="forkserver")
