"""Queues come and go while a worker runs."""

from __future__ import annotations

import threading
import time

import pytest

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import (
    ConfigurationError,
    JobCancelError,
    NotFoundError,
    OperationalError,
    RiverError,
)
from river_core.job import JobState
from river_core.task import Job, Registry
from river_core.worker.attendant import Attendant
from river_core.worker.config import WorkerConfig
from river_core.worker.events import EventKind
from river_core.worker.producer import Producer, QueueConfig
from river_core.worker.worker import Worker
from tests.runtime.workers import DEADLINE, Gate, insert, next_event, registry, row, running, wait_for


def names(worker: Worker) -> list[str]:
    """The queues that are worked now."""
    return [queue.name for queue in worker.queue_states()]


@pytest.mark.parametrize("max_workers", [None, 3])
def test_a_queue_is_added_to_a_running_worker_and_removed_again(
    driver: Driver, max_workers: int | None
) -> None:
    """It is worked at once, its row exists, and after its removal nothing is claimed. Checklist 67."""
    gate = Gate()
    tasks = registry(quick=lambda job: None, gated=gate)
    with running(driver, tasks, max_workers=max_workers) as worker:
        events = worker.events.subscribe()
        waiting = insert(driver, "quick", queue="mail")
        worker.queue_add("mail", 2)
        event = next_event(events)
        assert event.job is not None
        assert (event.job.id, event.kind) == (waiting.id, EventKind.JOB_COMPLETED)
        assert Client(driver).queue_get("mail").paused_at is None
        assert names(worker) == ["default", "mail"]

        insert(driver, "gated", queue="mail")
        assert gate.began.wait(DEADLINE)
        assert worker.queue_remove("mail", timeout=0.05) is False
        assert {queue.name: queue.active for queue in worker.queue_states()} == {"default": 0, "mail": 1}
        assert worker.dead_parts(quiet=False) == []
        remover = threading.Thread(target=worker.queue_remove, args=("mail",))
        remover.start()
        gate.release.set()
        remover.join(DEADLINE)
        assert not remover.is_alive()
        assert names(worker) == ["default"]
        next_event(events)
        left = insert(driver, "quick", queue="mail")
        other = insert(driver, "quick")
        event = next_event(events)
        assert event.job is not None
        assert event.job.id == other.id
        assert row(driver, left.id).attempt == 0


def test_jobs_of_a_queue_that_is_being_removed_can_be_cancelled(driver: Driver) -> None:
    """The removal waits for them, and their cancellation ends the wait. Checklist 67, 96."""
    began = threading.Event()

    def task(job: Job) -> None:
        began.set()
        if job.wait_stopped(DEADLINE):
            raise JobCancelError

    with running(driver, registry(long=task), queues={"default": 1, "mail": 1}) as worker:
        job = insert(driver, "long", queue="mail")
        assert began.wait(DEADLINE)
        remover = threading.Thread(target=worker.queue_remove, args=("mail",))
        remover.start()
        Client(driver).job_cancel(job.id)
        remover.join(DEADLINE)
        assert not remover.is_alive()
        wait_for(lambda: row(driver, job.id).state is JobState.CANCELLED, "the cancellation")


def test_a_job_cannot_remove_its_own_queue_but_another(driver: Driver) -> None:
    """It would wait for itself. Checklist 67, 101."""
    workers: list[Worker] = []
    seen: list[object] = []

    def task(job: Job) -> None:
        with pytest.raises(RiverError, match="own end"):
            workers[0].queue_remove("default")
        seen.append(workers[0].queue_remove("mail"))

    with running(driver, registry(task=task), queues={"default": 1, "mail": 1}) as worker:
        workers.append(worker)
        events = worker.events.subscribe()
        insert(driver, "task")
        assert next_event(events).kind is EventKind.JOB_COMPLETED
        assert (seen, names(worker)) == ([True], ["default"])


def test_a_queue_that_is_being_removed_is_worked_again_when_it_is_added(driver: Driver) -> None:
    """The removal ends without effect, the job that runs goes on, and new ones are claimed. Checklist 67."""
    gate, removed = Gate(), list[bool]()
    tasks = registry(quick=lambda job: None, gated=gate)
    with running(driver, tasks, queues={"default": 1, "mail": 1}) as worker:
        events = worker.events.subscribe()
        insert(driver, "gated", queue="mail")
        assert gate.began.wait(DEADLINE)
        removal = worker.queue_leave("mail")
        remover = threading.Thread(target=lambda: removed.append(removal()))
        remover.start()
        assert [queue.leaving for queue in worker.queue_states()] == [False, True]
        worker.queue_add("mail", 2)
        assert [queue.leaving for queue in worker.queue_states()] == [False, False]
        with pytest.raises(ConfigurationError, match="'mail' is worked already"):
            worker.queue_add("mail", 2)
        remover.join(DEADLINE)
        assert removed == [False]
        quick = insert(driver, "quick", queue="mail")
        event = next_event(events)
        assert event.job is not None
        assert (event.job.id, worker.dead_parts(quiet=False)) == (quick.id, [])

        again = worker.queue_leave("mail")
        gate.release.set()
        assert again(DEADLINE) is True
        assert (removal(), names(worker)) == (True, ["default"])


def test_a_queue_is_no_dead_part_while_it_is_registered(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that answers late does not stop the worker, and the queue is worked then."""
    asked, answers = threading.Event(), threading.Event()
    register = Attendant.register

    def slow(self: Attendant, producer: Producer) -> None:
        asked.set()
        assert answers.wait(DEADLINE)
        register(self, producer)

    with running(driver, registry(quick=lambda job: None)) as worker:
        events = worker.events.subscribe()
        monkeypatch.setattr(Attendant, "register", slow)
        adder = threading.Thread(target=worker.queue_add, args=("mail", 1))
        adder.start()
        assert asked.wait(DEADLINE)
        assert (worker.dead_parts(quiet=False), names(worker)) == ([], ["default"])
        answers.set()
        adder.join(DEADLINE)
        insert(driver, "quick", queue="mail")
        assert next_event(events).kind is EventKind.JOB_COMPLETED
        assert worker.dead_parts(quiet=False) == []


def test_a_queue_that_cannot_be_registered_is_not_worked(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call says so, and nothing has changed."""

    def broken(self: Attendant, producer: Producer) -> None:
        raise OperationalError("away")

    with running(driver, registry(quick=lambda job: None)) as worker:
        with monkeypatch.context() as patch:
            patch.setattr(Attendant, "register", broken)
            with pytest.raises(OperationalError):
                worker.queue_add("mail", 1)
        assert (names(worker), worker.dead_parts(quiet=False)) == (["default"], [])
        worker.queue_add("mail", 1)
        assert names(worker) == ["default", "mail"]


def test_many_threads_add_and_remove_one_queue(driver: Driver) -> None:
    """Each call does its work or says why not; the worker stays, and the queue is worked at the end."""
    wrong: list[Exception] = []

    def change() -> None:
        for call in [lambda: worker.queue_add("mail", 1), lambda: worker.queue_remove("mail")] * 10:
            try:
                call()
            except (ConfigurationError, NotFoundError):
                continue
            except Exception as error:  # noqa: BLE001 - whatever it is, the test tells of it
                wrong.append(error)

    with running(driver, registry(quick=lambda job: None)) as worker:
        threads = [threading.Thread(target=change) for _ in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            assert worker.dead_parts(quiet=False) == []
        if "mail" not in names(worker):
            worker.queue_add("mail", 1)
        events = worker.events.subscribe()
        insert(driver, "quick", queue="mail")
        assert (next_event(events).kind, wrong) == (EventKind.JOB_COMPLETED, [])


def test_a_queue_that_is_added_while_the_worker_stops_claims_nothing(driver: Driver) -> None:
    """A worker that was asked to stop takes no new jobs, from no queue."""
    gate = Gate()
    with running(driver, registry(quick=lambda job: None, gated=gate)) as worker:
        insert(driver, "gated")
        assert gate.began.wait(DEADLINE)
        worker.request_stop()
        worker.queue_add("mail", 1)
        parts = worker._parts
        assert parts is not None
        assert parts.producers.wait_claimed(time.monotonic() + DEADLINE)
        gate.release.set()
        assert worker.stop() is True


def test_wrong_queues_are_refused(driver: Driver) -> None:
    """Duplicates, unknown ones, bad names, numbers and pacing; nothing changes. Checklist 67."""
    with running(driver, registry(quick=lambda job: None)) as worker:
        with pytest.raises(ConfigurationError, match="'default' is worked already"):
            worker.queue_add("default", 1)
        with pytest.raises(NotFoundError, match="'mail' is not worked here; those that are: default"):
            worker.queue_remove("mail")
        for name, config in (("Mail", 1), ("mail", QueueConfig(1, fetch_cooldown=9.0))):
            with pytest.raises(ConfigurationError):
                worker.queue_add(name, config)
        with pytest.raises(ConfigurationError, match="max_workers"):
            worker.queue_add("mail", 0)
        assert names(worker) == ["default"]


def test_queues_change_before_the_start_and_the_last_one_may_go(driver: Driver) -> None:
    """A start works what is there then; a worker without queues stays and takes new ones."""
    worker = Worker(driver, registry(quick=lambda job: None), WorkerConfig(queues={"default": 1}))
    worker.queue_add("mail", 1)
    assert worker.queue_remove("default") is True
    worker.start()
    try:
        events = worker.events.subscribe()
        insert(driver, "quick", queue="mail")
        assert next_event(events).kind is EventKind.JOB_COMPLETED
        assert worker.queue_remove("mail") is True
        assert worker.dead_parts(quiet=False) == []
        worker.queue_add("mail", 1)
        insert(driver, "quick", queue="mail")
        assert next_event(events).kind is EventKind.JOB_COMPLETED
    finally:
        worker.stop_and_cancel()


def test_an_added_queue_is_paused_where_its_row_says_so(driver: Driver) -> None:
    """Pause and metadata come from the row, whoever wrote them. Checklist 65."""
    client = Client(driver)
    with running(driver, registry(quick=lambda job: None), queues={"default": 1, "mail": 1}) as worker:
        worker.queue_remove("mail")
        client.queue_pause("mail")
        client.queue_update("mail", metadata={"owner": "team"})
        worker.queue_add("mail", 1)
        [state] = [queue for queue in worker.queue_states() if queue.name == "mail"]
        assert (state.paused, state.metadata) == (True, {"owner": "team"})


@pytest.mark.parametrize("poll_only", [False, True])
def test_a_change_of_metadata_reaches_the_worker(driver: Driver, poll_only: bool) -> None:
    """By notification, by poll, and when it was too long to be sent. Checklist 52, 68."""
    client = Client(driver)
    tasks = registry(quick=lambda job: None)
    with running(driver, tasks, poll_only=poll_only, fetch_poll_interval=0.1) as worker:
        for metadata in ({"a": [1, None]}, {"long": "x" * 9000}):
            client.queue_update("default", metadata=metadata)
            wait_for(lambda wanted=metadata: worker.queue_states()[0].metadata == wanted, "the metadata")


class Service:
    """A maintenance service that says that it ran."""

    def __init__(self, ran: threading.Event) -> None:
        """Set `ran`."""
        self.ran = ran

    def run(self, client: object, driver: object, now: object) -> None:
        """Say so."""
        self.ran.set()


def test_a_worker_without_queues_leads(driver: Driver) -> None:
    """It runs its services while it leads, and works no job."""
    ran = threading.Event()

    worker = Worker(driver, Registry(), WorkerConfig(maintenance_services=[Service(ran)]))
    worker.start()
    try:
        assert ran.wait(DEADLINE)
        assert (worker.started, worker.queue_states()) == (True, [])
        with pytest.raises(ConfigurationError, match="no registered task"):
            worker.queue_add("default", 1)
    finally:
        assert worker.stop() is True


def test_a_worker_without_queues_and_without_duties_is_refused() -> None:
    """It would do nothing, also where it may not lead."""
    with pytest.raises(ConfigurationError, match="at least one queue"):
        WorkerConfig()
    with pytest.raises(ConfigurationError, match="at least one queue"):
        WorkerConfig(maintenance_services=[Service(threading.Event())], leader_election_disabled=True)
