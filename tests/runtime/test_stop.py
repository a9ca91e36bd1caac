"""A worker stops in two steps and leaves no row behind."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from queue import SimpleQueue

import pytest

from river_core.client import Client
from river_core.db.statement import Statement
from river_core.drivers.base import Driver
from river_core.errors import ConfigurationError, JobInterruptedError, RiverError
from river_core.job import JobState
from river_core.plugins import Metric, Plugin
from river_core.task import Job
from river_core.worker.config import WorkerConfig
from river_core.worker.events import EventKind
from river_core.worker.slots import ThreadSlots
from river_core.worker.worker import Worker
from tests.runtime.workers import DEADLINE, Gate, insert, next_event, registry, row, running, wait_for


def test_a_soft_stop_waits_for_running_jobs_and_claims_nothing_new(driver: Driver) -> None:
    """Checklist 97. The running job completes; the one that waited stays available, untouched."""
    gate = Gate()
    with running(driver, registry(gated=gate), queues={"default": 1}) as worker:
        first = insert(driver, "gated")
        assert gate.began.wait(DEADLINE)
        second = insert(driver, "gated")
        stopper = threading.Thread(target=worker.stop)
        stopper.start()
        gate.release.set()
        stopper.join(DEADLINE)
        assert not stopper.is_alive()
        assert worker.interrupted is False
    assert row(driver, first.id).state is JobState.COMPLETED
    after = row(driver, second.id)
    assert (after.state, after.attempt) == (JobState.AVAILABLE, 0)


def test_a_hard_stop_interrupts_and_gives_the_attempt_back(driver: Driver) -> None:
    """Checklist 98. available, attempt restored, no error, due now; the task saw JobInterruptedError."""
    began = threading.Event()
    seen: list[type[BaseException]] = []

    def task(job: Job) -> None:
        try:
            began.set()
            while not job.wait_stopped(0.01):
                pass
            for _ in range(1_000_000):
                job.wait_stopped(0.001)
        except Exception:
            seen.append(Exception)
            raise
        except JobInterruptedError:
            seen.append(JobInterruptedError)
            raise

    with running(driver, registry(long=task)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "long", metadata={"a": 1})
        assert began.wait(DEADLINE)
        assert worker.stop_and_cancel(DEADLINE) is False
        assert next_event(events).kind is EventKind.JOB_INTERRUPTED
    after = row(driver, job.id)
    assert (after.state, after.attempt, after.encoded_errors) == (JobState.AVAILABLE, 0, None)
    assert after.metadata["a"] == 1
    assert after.attempted_at is not None
    assert after.attempted_at <= after.scheduled_at <= datetime.now(UTC)
    assert seen == [JobInterruptedError]


def test_a_job_that_finishes_during_a_hard_stop_is_completed(driver: Driver) -> None:
    """Checklist 99. It noticed the stop and ended its work in order."""
    began = threading.Event()

    def task(job: Job) -> None:
        try:
            began.set()
            job.wait_stopped(DEADLINE)
            job.wait_stopped(DEADLINE)
        except JobInterruptedError:
            job.update_metadata({"tidied": True})

    with running(driver, registry(tidy=task)) as worker:
        job = insert(driver, "tidy")
        assert began.wait(DEADLINE)
        worker.stop_and_cancel(DEADLINE)
    after = row(driver, job.id)
    assert (after.state, after.metadata.get("tidied")) == (JobState.COMPLETED, True)


def test_a_job_that_ignores_the_stop_is_given_back_and_cannot_write_later(driver: Driver) -> None:
    """Its row is available at once; what the thread does afterwards changes nothing."""
    gate = Gate()
    finished = threading.Event()

    def task(job: Job) -> None:
        try:
            gate(job)
        except JobInterruptedError:
            gate.release.wait(DEADLINE)
        finally:
            finished.set()

    with running(driver, registry(deaf=task)) as worker:
        job = insert(driver, "deaf")
        assert gate.began.wait(DEADLINE)
        worker.stop_and_cancel(0.2)
    after = row(driver, job.id)
    gate.release.set()
    assert finished.wait(DEADLINE)
    assert (after.state, after.attempt) == (JobState.AVAILABLE, 0)
    assert row(driver, job.id).state is JobState.AVAILABLE


def test_stop_is_idempotent_and_a_worker_can_start_again(driver: Driver) -> None:
    """Checklist 97. A second stop does nothing; a second start works jobs."""
    worker = Worker(driver, registry(quick=lambda job: None), WorkerConfig(queues={"default": 2}))
    assert worker.stop() is True
    for _ in range(2):
        worker.start()
        events = worker.events.subscribe()
        insert(driver, "quick")
        assert next_event(events).kind is EventKind.JOB_COMPLETED
        assert worker.stop() is True
        assert worker.stop() is True


def test_a_job_cannot_wait_for_its_own_worker(driver: Driver) -> None:
    """Checklist 101. It would wait for itself."""
    worker_of_task: list[Worker] = []
    caught: list[BaseException] = []

    def task(job: Job) -> None:
        try:
            worker_of_task[0].stop()
        except RiverError as error:
            caught.append(error)

    with running(driver, registry(suicidal=task)) as worker:
        worker_of_task.append(worker)
        events = worker.events.subscribe()
        insert(driver, "suicidal")
        assert next_event(events).kind is EventKind.JOB_COMPLETED
    assert len(caught) == 1


def test_no_row_stays_running_when_jobs_keep_coming(driver: Driver) -> None:
    """Checklist 102. Clean stops under load: each job is completed or was never touched."""
    stop_inserting = threading.Event()

    def insert_on() -> None:
        while not stop_inserting.is_set():
            insert(driver, "quick")

    inserter = threading.Thread(target=insert_on)
    inserter.start()
    try:
        for _ in range(3):
            with running(driver, registry(quick=lambda job: None)) as worker:
                events = worker.events.subscribe(size=100_000)
                for _ in range(10):
                    next_event(events)
                assert worker.stop() is True
    finally:
        stop_inserting.set()
        inserter.join(DEADLINE)
    with driver.connect() as connection:
        found = connection.fetch(Statement("states", "SELECT state, attempt FROM river_job", {}))
    assert {tuple(item) for item in Counter(map(tuple, found))} <= {("completed", 1), ("available", 0)}


@pytest.mark.parametrize("poll_only", [False, True])
def test_a_running_job_hears_a_cancellation_from_outside(driver: Driver, poll_only: bool) -> None:
    """Checklist 94, 95. By notification, or by the poll; it ends cancelled with River's text."""
    began = threading.Event()

    def task(job: Job) -> None:
        began.set()
        assert job.wait_stopped(DEADLINE)
        raise RuntimeError("stopped halfway")

    with running(driver, registry(long=task), poll_only=poll_only) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "long")
        assert began.wait(DEADLINE)
        Client(driver).job_cancel(job.id)
        assert next_event(events).kind is EventKind.JOB_CANCELLED
    after = row(driver, job.id)
    assert after.state is JobState.CANCELLED
    assert [error.error for error in after.errors] == ["JobCancelError: job cancelled remotely"]


def test_rows_go_back_when_the_system_gives_no_thread(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim without any thread to run it is not kept: the row is available again and runs later."""
    refused: list[str] = []
    start_thread = ThreadSlots._start_thread

    def refuse_once(slots: ThreadSlots) -> None:
        if not refused:
            refused.append(slots.name)
            raise RuntimeError("can't start new thread")
        start_thread(slots)

    monkeypatch.setattr(ThreadSlots, "_start_thread", refuse_once)
    with running(driver, registry(quick=lambda job: None)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "quick")
        kinds = [next_event(events).kind, next_event(events).kind]
    assert kinds == [EventKind.JOB_INTERRUPTED, EventKind.JOB_COMPLETED]
    assert row(driver, job.id).attempt == 1


def test_a_job_with_an_error_of_its_own_fails_during_a_hard_stop(driver: Driver) -> None:
    """Checklist 99. It is an ordinary failed attempt: the error is stored and the attempt counts."""
    began = threading.Event()

    def task(job: Job) -> None:
        try:
            began.set()
            job.wait_stopped(DEADLINE)
            job.wait_stopped(DEADLINE)
        except JobInterruptedError:
            raise ValueError("half of it is done") from None

    with running(driver, registry(broken=task)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "broken")
        assert began.wait(DEADLINE)
        worker.stop_and_cancel(DEADLINE)
        assert next_event(events).kind is EventKind.JOB_FAILED
    after = row(driver, job.id)
    assert (after.state, after.attempt) == (JobState.AVAILABLE, 1)
    assert [error.error for error in after.errors] == ["half of it is done"]


def no_claims(worker: Worker) -> bool:
    """Whether the worker's producers have ended."""
    assert worker._parts is not None
    return not any(producer.alive for producer in worker._parts.producers.values())


def refuses(worker: Worker) -> bool:
    """Whether the worker's slots let nothing begin any more."""
    assert worker._parts is not None
    return all(slots._refuses for slots in worker._parts.slots)


def hears_a_stop(began: threading.Event, fails: bool) -> Callable[[Job], None]:
    """A task that runs until it is told to stop, and then ends in order or not."""

    def task(job: Job) -> None:
        began.set()
        assert job.wait_stopped(DEADLINE)
        if fails:
            raise RuntimeError("stopped halfway")

    return task


def deaf_until_stopped(began: threading.Event) -> Callable[[Job], None]:
    """A task that runs until its worker interrupts it."""

    def task(job: Job) -> None:
        began.set()
        while not job.wait_stopped(0.01):
            pass
        raise JobInterruptedError

    return task


def test_the_soft_stop_timeout_interrupts_what_still_runs(driver: Driver) -> None:
    """A stop without a time of its own waits that long. Checklist 100."""
    began = threading.Event()
    with running(driver, registry(long=deaf_until_stopped(began)), soft_stop_timeout=0.2) as worker:
        job = insert(driver, "long")
        assert began.wait(DEADLINE)
        assert worker.stop() is False
        assert worker.interrupted is True
    after = row(driver, job.id)
    assert (after.state, after.attempt, after.errors) == (JobState.AVAILABLE, 0, [])


def test_a_requested_stop_returns_at_once_and_is_escalated_too(driver: Driver) -> None:
    """The worker counts as started until a stop that waits. Checklist 100."""
    began = threading.Event()
    with running(driver, registry(long=deaf_until_stopped(began)), soft_stop_timeout=0.2) as worker:
        job = insert(driver, "long")
        assert began.wait(DEADLINE)
        worker.request_stop()
        assert worker.started is True
        wait_for(lambda: row(driver, job.id).state is JobState.AVAILABLE, "the interruption")
        assert worker.started is True
        assert worker.stop() is False
        assert worker.started is False


@pytest.mark.parametrize("seconds", [-1, -0.5])
def test_a_negative_soft_stop_timeout_is_refused(seconds: float) -> None:
    """Checklist 153. Zero interrupts at once; there is nothing below."""
    with pytest.raises(ConfigurationError, match="soft_stop_timeout"):
        WorkerConfig(queues={"default": 1}, soft_stop_timeout=seconds)


@pytest.mark.parametrize("poll_only", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_a_cancellation_is_heard_while_draining(driver: Driver, fails: bool, poll_only: bool) -> None:
    """Checklist 95, 96. Without a time-out too; a success stays one, an error becomes `cancelled`."""
    began = threading.Event()
    tasks = registry(long=hears_a_stop(began, fails))
    with running(driver, tasks, job_timeout=None, poll_only=poll_only) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "long")
        assert began.wait(DEADLINE)
        stopper = threading.Thread(target=worker.stop)
        stopper.start()
        wait_for(lambda: no_claims(worker), "the end of the claims")
        Client(driver).job_cancel(job.id)
        event = next_event(events)
        stopper.join(DEADLINE)
    after = row(driver, job.id)
    if fails:
        assert (event.kind, after.state) == (EventKind.JOB_CANCELLED, JobState.CANCELLED)
        assert [error.error for error in after.errors] == ["JobCancelError: job cancelled remotely"]
    else:
        assert (event.kind, after.state) == (EventKind.JOB_COMPLETED, JobState.COMPLETED)
        assert after.encoded_errors is None
    assert worker.interrupted is False


def test_a_cancellation_between_claim_and_start_is_heard(driver: Driver) -> None:
    """Checklist 94. The row is claimed, but its worker does not know the job yet when the message comes."""
    began = threading.Event()

    class Cancelling(Plugin):
        def metric_emit(self, metric: Metric) -> None:
            if metric.name == "job_get_available_count" and metric.value:
                Client(driver).job_cancel(jobs.get(timeout=DEADLINE))

    jobs: SimpleQueue[int] = SimpleQueue()
    tasks = registry(long=hears_a_stop(began, fails=True))
    with running(driver, tasks, plugins=(Cancelling(),)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "long")
        jobs.put(job.id)
        assert next_event(events).kind is EventKind.JOB_CANCELLED
    assert row(driver, job.id).state is JobState.CANCELLED


def test_what_a_claim_brings_after_a_hard_stop_does_not_begin(driver: Driver) -> None:
    """Checklist 98. The claim was on its way; its row goes back as it was, and no thread began it."""
    stopping = threading.Event()
    began: list[int] = []

    class Slow(Plugin):
        def metric_emit(self, metric: Metric) -> None:
            if metric.name == "job_get_available_count" and metric.value:
                stopper.start()
                wait_for(lambda: refuses(worker), "the interruption")
                stopping.set()

    job = insert(driver, "quick")
    tasks = registry(quick=lambda job: began.append(job.id))
    worker = Worker(driver, tasks, WorkerConfig(queues={"default": 1}, plugins=(Slow(),)))
    stopper = threading.Thread(target=worker.stop_and_cancel, args=(DEADLINE,))
    worker.start()
    assert stopping.wait(DEADLINE)
    stopper.join(DEADLINE)
    assert not stopper.is_alive()
    after = row(driver, job.id)
    assert (after.state, after.attempt, began) == (JobState.AVAILABLE, 0, [])


def test_a_stop_that_does_not_wait(driver: Driver) -> None:
    """Checklist 100. It returns while the job runs; the worker counts as started until a stop has waited."""
    gate = Gate()
    with running(driver, registry(gated=gate)) as worker:
        events = worker.events.subscribe()
        insert(driver, "gated")
        assert gate.began.wait(DEADLINE)
        worker.request_stop()
        assert (worker.started, worker.active) == (True, 1)
        gate.release.set()
        assert next_event(events).kind is EventKind.JOB_COMPLETED
        assert worker.started
        later = insert(driver, "gated")
        assert worker.stop() is True
        assert not worker.started
    assert row(driver, later.id).attempt == 0
