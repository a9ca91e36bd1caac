"""Output that a task stores at once, through its client, beside what its attempt stores at the end."""

from __future__ import annotations

from typing import Any

from river_core.drivers.base import Driver
from river_core.task import Job
from tests.runtime.workers import insert, next_event, registry, row, running
from tests.vectors import load


def test_an_output_is_stored_while_the_job_runs(driver: Driver) -> None:
    """Checklist 109. It is there before the end and stays, as Go's client leaves it."""
    seen: list[dict[str, Any]] = []

    def task(job: Job) -> None:
        client: Any = job.client
        client.job_update(job.row.id, output="eager")
        seen.append(row(driver, job.row.id).metadata)

    [recorded] = [
        item for item in load("rows.json")["scenarios"] if item["name"] == "output set eagerly by JobUpdate"
    ]
    with running(driver, registry(update_output=task)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "update_output")
        next_event(events)
    assert seen == [{"output": "eager"}]
    finished = row(driver, job.id)
    assert (finished.metadata, finished.state) == (recorded["row"]["metadata"], recorded["row"]["state"])


def test_an_output_of_the_attempt_wins_over_an_earlier_one(driver: Driver) -> None:
    """Checklist 109. Whichever was said later in the task; other keys stay."""

    def task(job: Job) -> None:
        client: Any = job.client
        client.job_update(job.row.id, output={"part": 1})
        job.record_output({"part": 2})

    with running(driver, registry(two_outputs=task)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "two_outputs", metadata={"kept": True})
        next_event(events)
    assert row(driver, job.id).metadata == {"kept": True, "output": {"part": 2}}
