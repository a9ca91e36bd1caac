"""What reaches a worker between the commit of a claim and the start of its jobs."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.job import JobRow, JobState
from river_core.task import Job
from river_core.worker.events import EventKind
from river_core.worker.internals import Internals
from tests.runtime.workers import DEADLINE, insert, next_event, registry, row, running, wait_for


class Hold:
    """Holds a claim, committed, before its jobs reach their slots."""

    def __init__(self) -> None:
        self.claimed = threading.Event()
        self.release = threading.Event()

    def __call__(self, _rows: Sequence[JobRow]) -> None:
        """Say that there is a claim, and wait."""
        self.claimed.set()
        assert self.release.wait(DEADLINE)


def test_a_job_starts_with_the_cancellation_that_came_before_it(driver: Driver) -> None:
    """Checklist 94. It is heard while the claim is on its way, and the task finds its signal set."""
    hold, began = Hold(), threading.Event()

    def task(job: Job) -> None:
        if job.stopped:
            began.set()
            raise ValueError

    tasks = registry(never=task, marker=lambda _: None)
    with running(driver, tasks, internals=Internals(claimed=hold)) as worker:
        events = worker.events.subscribe(EventKind.JOB_CANCELLED)
        job = insert(driver, "never")
        assert hold.claimed.wait(DEADLINE)
        Client(driver).job_cancel(job.id)
        [slots] = {id(item.slots): item.slots for item in worker._parts.producers.values()}.values()  # type: ignore[union-attr]
        wait_for(lambda: job.id in slots._early, "hearing the cancellation")
        hold.release.set()
        assert next_event(events).job.id == job.id  # type: ignore[union-attr]
    after = row(driver, job.id)
    assert (after.state, after.attempt) == (JobState.CANCELLED, 1)
    assert [error.error for error in after.errors] == ["JobCancelError: job cancelled remotely"]
    assert began.is_set()
    assert not slots._early


def test_a_hard_stop_interrupts_what_a_claim_brings_afterwards(driver: Driver) -> None:
    """Checklist 98. The job of a claim that was on its way is told to end like those that run."""
    hold = Hold()

    def task(job: Job) -> None:
        assert job.wait_stopped(DEADLINE)

    with running(driver, registry(long=task), internals=Internals(claimed=hold)) as worker:
        job = insert(driver, "long")
        assert hold.claimed.wait(DEADLINE)
        stopper = threading.Thread(target=worker.stop_and_cancel, args=(DEADLINE * 2,))
        stopper.start()
        wait_for(lambda: worker._parts.producers["default"].stopping, "the stop")  # type: ignore[union-attr]
        hold.release.set()
        stopper.join(DEADLINE)
        assert not stopper.is_alive()
    after = row(driver, job.id)
    assert (after.state, after.attempt, after.errors) == (JobState.AVAILABLE, 0, [])
