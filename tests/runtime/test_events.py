"""What subscribers hear: the kind of the row after its write, statistics, and queues as they are."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from river_core import Client
from river_core.drivers.base import Driver
from river_core.errors import ValidationError
from river_core.job import JobState
from river_core.task import Job
from river_core.worker.events import Event, EventBus, EventKind, kind_of
from tests.runtime.stored import NOW, FixedClock, run
from tests.runtime.workers import DEADLINE, Gate, insert, next_event, registry, row, running, wait_for


def test_a_full_subscription_drops_the_newest() -> None:
    """Checklist 125. Nobody is held up; what is buffered can be read after a close, and then it ends."""
    bus = EventBus()
    subscription = bus.subscribe(size=2)
    kinds = [EventKind.JOB_COMPLETED, EventKind.JOB_FAILED, EventKind.JOB_SNOOZED]
    for kind in kinds:
        bus.publish(Event(kind))
    subscription.close()
    subscription.close()
    assert [event.kind for event in subscription] == kinds[:2]
    assert subscription.get() is None


def test_close_wakes_a_reader() -> None:
    """Checklist 125. A blocked reader gets None."""
    subscription = EventBus().subscribe()
    got: list[Event | None] = []
    reader = threading.Thread(target=lambda: got.append(subscription.get()))
    reader.start()
    subscription.close()
    reader.join(DEADLINE)
    assert got == [None]


@pytest.mark.parametrize("published", [0, 1])
def test_close_wakes_every_reader(published: int) -> None:
    """Checklist 125. However many wait, and whether or not there is something to read for one of them."""
    bus = EventBus()
    subscription = bus.subscribe()
    got: list[Event | None] = []
    readers = [threading.Thread(target=lambda: got.append(subscription.get()), daemon=True) for _ in range(3)]
    for reader in readers:
        reader.start()
    for _ in range(published):
        bus.publish(Event(EventKind.JOB_COMPLETED))
    subscription.close()
    for reader in readers:
        reader.join(DEADLINE)
    assert sorted(event is None for event in got) == [False] * published + [True] * (3 - published)


def test_a_full_subscription_holds_up_no_worker(driver: Driver) -> None:
    """Checklist 125. All jobs are worked; the reader finds the first event, and then the end."""
    with running(driver, registry(one=lambda job: None)) as worker:
        events = worker.events.subscribe("job_completed", size=1)
        ids = [insert(driver, "one").id for _ in range(3)]
        wait_for(lambda: all(row(driver, job).finalized_at for job in ids), "the end of all jobs")
    events.close()
    assert len(list(events)) == 1


@pytest.mark.parametrize("arguments", [(("job_vanished",), 1), ((), 0)])
def test_bad_subscriptions_are_refused(arguments: tuple[tuple[str, ...], int]) -> None:
    """An unknown kind, or room for nothing."""
    kinds, size = arguments
    with pytest.raises(ValidationError):
        EventBus().subscribe(*kinds, size=size)


def test_statistics(driver: Driver) -> None:
    """Checklist 126. Not negative; the queue wait is start minus due time, the run as long as the task."""

    def task(job: Job) -> None:
        job.wait_stopped(0.05)

    with running(driver, registry(one=task)) as worker:
        events = worker.events.subscribe()
        insert(driver, "one")
        event = next_event(events)
    assert event.job is not None
    assert event.statistics is not None
    assert event.job.attempted_at is not None
    waited = event.job.attempted_at - event.job.scheduled_at
    assert event.statistics.queue_wait >= waited / timedelta(seconds=1) - 0.5
    assert event.statistics.run >= 0.05
    assert event.statistics.complete >= 0


def test_statistics_of_a_clock_that_stands(driver: Driver) -> None:
    """Checklist 126. The wait is the hour since the job was due; nothing is ever negative."""
    due = {"one": NOW - timedelta(hours=1), "two": NOW + timedelta(hours=1)}
    tasks = registry(one=lambda job: None, two=lambda job: None)
    with running(driver, tasks, clock=FixedClock()) as worker:
        events = worker.events.subscribe()
        for kind, expected in (("one", 3600.0), ("two", 0.0)):
            insert(driver, kind, scheduled_at=due[kind], state=JobState.AVAILABLE)
            statistics = next_event(events).statistics
            assert statistics is not None
            assert (statistics.queue_wait, statistics.run, statistics.complete) == (expected, 0.0, 0.0)


@pytest.mark.parametrize(
    ("state", "decided", "kind"),
    [
        (JobState.COMPLETED, EventKind.JOB_FAILED, EventKind.JOB_COMPLETED),
        (JobState.CANCELLED, EventKind.JOB_COMPLETED, EventKind.JOB_CANCELLED),
        (JobState.DISCARDED, EventKind.JOB_COMPLETED, EventKind.JOB_FAILED),
        (JobState.RETRYABLE, EventKind.JOB_COMPLETED, EventKind.JOB_FAILED),
        (JobState.SCHEDULED, EventKind.JOB_COMPLETED, EventKind.JOB_SNOOZED),
        (JobState.AVAILABLE, EventKind.JOB_FAILED, EventKind.JOB_FAILED),
        (JobState.AVAILABLE, EventKind.JOB_SNOOZED, EventKind.JOB_SNOOZED),
        (JobState.AVAILABLE, EventKind.JOB_INTERRUPTED, EventKind.JOB_INTERRUPTED),
        (JobState.AVAILABLE, EventKind.JOB_COMPLETED, EventKind.JOB_FAILED),
        (JobState.PENDING, EventKind.JOB_COMPLETED, None),
        (JobState.RUNNING, EventKind.JOB_COMPLETED, None),
    ],
)
def test_the_kind_follows_the_row(state: JobState, decided: EventKind, kind: EventKind | None) -> None:
    """Checklist 162. In all cases."""
    assert kind_of(state, decided) is kind


@pytest.mark.parametrize("metadata", [{}, {"late": 1}])
def test_a_row_finalized_by_somebody_else(driver: Driver, metadata: dict[str, Any]) -> None:
    """Checklist 162. It keeps its state, takes the metadata, and gives the event of its state."""
    cast = "::text::timestamptz" if driver.sql.dialect == "postgres" else ""

    def task(job: Job) -> None:
        job.update_metadata(metadata)
        text = f"UPDATE river_job SET state = 'discarded', finalized_at = @now{cast} WHERE id = {job.row.id}"
        run(driver, text, now=driver.sql.time(NOW))

    options = {"leader_election_disabled": True}  # a leader cleans such old rows away
    with running(driver, registry(one=task), **options) as worker:
        events = worker.events.subscribe()
        insert(driver, "one")
        event = next_event(events)
    assert event.kind is EventKind.JOB_FAILED
    assert event.job is not None
    assert (event.job.state, event.job.finalized_at) == (JobState.DISCARDED, NOW)
    assert event.job.metadata.get("late") == metadata.get("late")


def test_queue_events_carry_a_snapshot(driver: Driver) -> None:
    """Checklist 127. One event per queue for `*`, one for a change, none for a repeated pause."""
    client = Client(driver)
    queues = {"default": 1, "mail": 1}
    with running(driver, registry(one=lambda job: None), queues=queues) as worker:
        events = worker.events.subscribe("queue_paused", "queue_resumed")
        client.queue_pause("*")
        paused = [next_event(events), next_event(events)]
        client.queue_pause("mail")
        client.queue_resume("mail")
        resumed = next_event(events)
    assert {event.kind for event in paused} == {EventKind.QUEUE_PAUSED}
    rows = [event.queue for event in paused if event.queue is not None]
    assert sorted(queue.name for queue in rows) == ["default", "mail"]
    assert all(queue.paused_at is not None for queue in rows)
    assert resumed.kind is EventKind.QUEUE_RESUMED
    assert resumed.queue is not None
    assert (resumed.queue.name, resumed.queue.paused_at) == ("mail", None)


def test_a_stop_closes_subscriptions(driver: Driver) -> None:
    """The reader ends after the last event, which was written before."""
    gate = Gate()
    with running(driver, registry(one=gate)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one")
        assert gate.began.wait(DEADLINE)
        gate.release.set()
        wait_for(lambda: worker.active == 0, "the end of the job")
    assert [event.job.id for event in events if event.job is not None] == [job.id]
