"""A job that does not hear its time-out is reported once and may be replaced in its slot."""

from __future__ import annotations

import threading

import pytest

from river_core import ConfigurationError
from river_core.drivers.base import Driver
from river_core.job import JobRow, JobState
from river_core.task import Job, Task
from river_core.worker.config import WorkerConfig
from river_core.worker.slots import ThreadSlots
from river_core.worker.worker import Worker
from tests.runtime.workers import DEADLINE, Gate, insert, registry, row, running, wait_for


class Deaf(Task):
    """Waits in C, where no exception reaches it."""

    kind = "deaf"

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lock.acquire()

    def timeout(self, job: JobRow) -> float:
        return 0.05

    def work(self, job: Job) -> None:
        assert self.lock.acquire(timeout=DEADLINE)


def slots_of(worker: Worker) -> ThreadSlots:
    """The worker's only slots."""
    assert worker._parts is not None
    return worker._parts.slots[0]


@pytest.mark.parametrize("answer", [True, False])
def test_a_stuck_job(driver: Driver, answer: bool) -> None:
    """Checklist 83. Reported once; with a slot added another job runs; its end frees no second slot."""
    reports: list[tuple[int, str, str, int]] = []
    reported = threading.Event()

    def handler(job_id: int, kind: str, queue: str, total: int) -> bool:
        reports.append((job_id, kind, queue, total))
        reported.set()
        return answer

    deaf, one, two = Deaf(), Gate(), Gate()
    tasks = registry(one=one, two=two).add(deaf)
    options = {"job_stuck_threshold": 0.05, "job_stuck_handler": handler, "queues": {"default": 1}}
    with running(driver, tasks, **options) as worker:
        stuck = insert(driver, "deaf", max_attempts=1)
        assert reported.wait(DEADLINE)
        first = insert(driver, "one")
        if answer:
            assert one.began.wait(DEADLINE)
        second = insert(driver, "two")
        deaf.lock.release()
        wait_for(lambda: row(driver, stuck.id).errors, "the end of the stuck job")
        assert one.began.wait(DEADLINE)
        assert slots_of(worker).active == 1
        assert row(driver, second.id).state is JobState.AVAILABLE
        one.release.set()
        assert two.began.wait(DEADLINE)
        two.release.set()
        wait_for(lambda: row(driver, second.id).state is JobState.COMPLETED, "the second job")
    assert row(driver, first.id).state is JobState.COMPLETED
    assert reports == [(stuck.id, "deaf", "default", 1)]
    assert row(driver, stuck.id).errors[0].error == "job timed out after 0.05s"


def test_two_stuck_jobs_are_counted(driver: Driver) -> None:
    """The handler hears how many are stuck; one that raises asks for nothing."""
    totals: list[int] = []

    def handler(job_id: int, kind: str, queue: str, total: int) -> bool:
        totals.append(total)
        raise RuntimeError("the handler broke")

    deaf = Deaf()
    options = {"job_stuck_threshold": 0.0, "job_stuck_handler": handler, "queues": {"default": 2}}
    with running(driver, registry().add(deaf), **options) as worker:
        insert(driver, "deaf", max_attempts=1)
        insert(driver, "deaf", max_attempts=1)
        wait_for(lambda: len(totals) == 2, "both reports")
        deaf.lock.release()
        wait_for(lambda: slots_of(worker).active < 2, "the end of one")
        deaf.lock.release()
    assert totals == [1, 2]


def test_the_threshold_is_checked() -> None:
    """A negative one is refused."""
    with pytest.raises(ConfigurationError, match="job_stuck_threshold"):
        WorkerConfig(queues={"default": 1}, job_stuck_threshold=-1)
