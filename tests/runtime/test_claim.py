"""Which rows a claim takes, what it changes in them, and when a worker claims at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core import Client
from river_core.db import notifications, work
from river_core.db.statement import Dialect, Statement
from river_core.drivers import open_driver
from river_core.drivers.base import Driver, Row
from river_core.job import JobRow, JobState
from river_core.task import Job, Registry, Task
from river_core.worker.attendant import Attendant
from tests.conformance.listening import send
from tests.runtime.stored import NOW, put, read, run, states
from tests.runtime.test_completer import Watched
from tests.runtime.workers import DEADLINE, Gate, insert, next_event, registry, row, running, wait_for

ME = "claimer"
DUE = NOW - timedelta(days=1)
NEVER = 3600.0
"""Seconds of a poll that no test lives to see."""


def claim(driver: Driver, limit: int = 100, queue: str = "default", **options: Any) -> list[JobRow]:
    """Claim once, as a producer does."""
    with driver.connect() as connection:
        rows = connection.fetch(work.job_get_available(driver.sql, queue, ME, limit, **options))
    return work.decode_claim(driver.sql, rows).rows


def ids(rows: Sequence[JobRow]) -> list[int]:
    return [row.id for row in rows]


def test_the_order_and_what_is_left(driver: Driver) -> None:
    """Checklist 58. Priority, time, id; no other queue, no other state, nothing of the future."""
    last = put(driver, priority=4, scheduled_at=DUE - timedelta(days=9))
    second = put(driver, priority=2, scheduled_at=DUE)
    third = put(driver, priority=2, scheduled_at=DUE)
    first = put(driver, priority=2, scheduled_at=DUE - timedelta(seconds=1))
    left = [
        put(driver, scheduled_at=datetime.now(UTC) + timedelta(hours=1)),
        put(driver, queue="other", scheduled_at=DUE),
        *(
            put(driver, state=state, scheduled_at=DUE)
            for state in ("pending", "retryable", "running", "scheduled")
        ),
        put(driver, state="completed", scheduled_at=DUE, finalized_at=NOW),
    ]
    before = [read(driver, job) for job in left]
    assert ids(claim(driver, limit=2)) == [first, second]
    assert ids(claim(driver)) == [third, last]
    assert [read(driver, job) for job in left] == before


@pytest.mark.parametrize("earlier", [0, 1, 99, 100, 105])
def test_a_claim_counts_and_signs(driver: Driver, earlier: int) -> None:
    """Checklist 59. The newest of at most 100 names is the last one; nothing else changes."""
    names = [f"client-{number}" for number in range(earlier)] or None
    job = put(driver, attempt=earlier, max_attempts=200, attempted_by=names, metadata={"a": 1}, errors=None)
    before = read(driver, job)
    other = put(driver)
    claimed = {row.id: row for row in claim(driver)}
    after = read(driver, job)
    assert claimed[job] == after
    assert (after.state, after.attempt) == (JobState.RUNNING, earlier + 1)
    assert after.attempted_by == [*(names or [])[-99:], ME]
    assert after.attempted_at is not None
    assert after.attempted_at == read(driver, other).attempted_at
    assert (after.scheduled_at, after.priority, after.encoded_errors, after.encoded_metadata) == (
        before.scheduled_at,
        before.priority,
        before.encoded_errors,
        before.encoded_metadata,
    )


@pytest.mark.foreign_rows
def test_the_last_attempt_that_the_column_holds(driver: Driver) -> None:
    """Checklist 60. It stays on Postgres and grows on SQLite; its neighbours are claimed as well."""
    before = put(driver)
    full = put(driver, attempt=32767, max_attempts=32767)
    after = put(driver)
    assert sorted(ids(claim(driver))) == [before, full, after]
    assert read(driver, full).attempt == (32767 if driver.sql.dialect is Dialect.POSTGRES else 32768)


@pytest.mark.postgres
def test_claimers_do_not_wait_for_each_other(postgres_driver: Driver, postgres_url: str) -> None:
    """Checklist 61. While one claim is not committed the next takes other rows, and does so at once."""
    jobs = [put(postgres_driver) for _ in range(4)]
    statement = work.job_get_available(postgres_driver.sql, "default", "first", 2)
    with closing(open_driver(postgres_url)) as other, postgres_driver.connect() as connection:
        with connection.transaction():
            first = work.decode_claim(postgres_driver.sql, connection.fetch(statement)).rows
            second: list[JobRow] = []
            thread = threading.Thread(target=lambda: second.extend(claim(other, limit=4)))
            thread.start()
            thread.join(DEADLINE)
            assert not thread.is_alive()
        assert ids(first) == jobs[:2]
        assert ids(second) == jobs[2:]
    assert [read(postgres_driver, job).attempted_by for job in jobs] == [["first"]] * 2 + [[ME]] * 2


class Renamed(Task):
    """A task that still works jobs of its old name."""

    kind = "new_name"
    kind_aliases = ("old_name",)

    def work(self, job: Job) -> None:
        """Do nothing."""


def test_aliases_are_known_kinds(driver: Driver) -> None:
    """Checklist 66. Both names are claimed and worked; a stranger stays as it is."""
    stranger = insert(driver, "stranger")
    with running(driver, Registry().add(Renamed()), fetch_only_known_kinds=True) as worker:
        events = worker.events.subscribe("job_completed")
        wanted = {insert(driver, kind).id for kind in ("new_name", "old_name")}
        assert {event.job.id for event in (next_event(events), next_event(events)) if event.job} == wanted
    assert row(driver, stranger.id) == stranger


def test_without_known_kinds_nothing_is_asked(driver: Driver) -> None:
    """Checklist 66. No kinds match no row, and a worker that knows none sends no claim."""
    job = put(driver)
    assert claim(driver, kinds=()) == []
    assert states(driver, job) == ["available"]
    watched = Watched(driver)
    tasks = registry(known=lambda job: None)
    tasks.kinds = lambda: ()  # type: ignore[method-assign] # a worker refuses an empty registry at once
    with running(watched, tasks, fetch_only_known_kinds=True) as worker:  # type: ignore[arg-type] # wraps one
        assert worker._parts is not None
        assert worker._parts.producers["default"].run_once()
    assert not [name for name in watched.names if name.startswith("job_get_available")]
    assert states(driver, job) == ["available"]


def test_another_queues_inserts_start_no_claim(driver: Driver) -> None:
    """Checklist 51. Twenty of them cost this queue nothing; one of its own is claimed at once."""
    watched = Watched(driver)
    tasks = registry(quick=lambda job: None)
    options = {"fetch_poll_interval": NEVER, "fetch_cooldown": 0.001}
    with running(watched, tasks, **options) as worker:  # type: ignore[arg-type] # wraps one
        events = worker.events.subscribe()
        insert(driver, "quick")
        next_event(events)
        before = claims(watched)
        for _ in range(20):
            send(driver, notifications.TOPIC_INSERT, notifications.insert_payload("other"))
        insert(driver, "quick")
        next_event(events)
    assert claims(watched) - before <= 2


def claims(watched: Watched) -> int:
    """How many claims were sent."""
    return sum(count for name, count in watched.names.items() if name.startswith("job_get_available"))


def test_claims_keep_the_cool_down_apart(driver: Driver) -> None:
    """Checklist 63. However often inserts are announced, there are only as many as the time allows."""
    watched = Watched(driver)
    tasks = registry(quick=lambda job: None)
    options = {"fetch_poll_interval": NEVER, "fetch_cooldown": 0.1}
    with running(watched, tasks, **options) as worker:  # type: ignore[arg-type] # wraps one
        events = worker.events.subscribe()
        began, before = time.monotonic(), claims(watched)
        for _ in range(40):
            insert(driver, "quick")
        for _ in range(40):
            next_event(events)
        assert claims(watched) - before <= (time.monotonic() - began) / 0.1 + 2


def test_a_full_fetch_fetches_again_when_a_slot_frees(driver: Driver) -> None:
    """Checklist 62. Never more than two at once, and nobody polls for the third."""
    running_now: list[int] = []
    most: list[int] = []
    gates = [Gate(), Gate(), Gate()]
    numbers = {insert(driver, "gated", json.dumps({"n": number})).id: number for number in range(3)}

    def task(job: Job) -> None:
        running_now.append(job.row.id)
        most.append(len(running_now))
        gates[numbers[job.row.id]](job)
        running_now.remove(job.row.id)

    options: dict[str, Any] = {"queues": {"default": 2}, "fetch_poll_interval": NEVER, "poll_only": True}
    with running(driver, registry(gated=task), **options):
        assert gates[0].began.wait(DEADLINE)
        assert gates[1].began.wait(DEADLINE)
        assert states(driver, *numbers) == ["running", "running", "available"]
        gates[1].release.set()
        assert gates[2].began.wait(DEADLINE)
        gates[0].release.set()
        gates[2].release.set()
        wait_for(lambda: states(driver, *numbers) == ["completed"] * 3, "the end of all three")
    assert max(most) == 2


@pytest.mark.parametrize("name", ["default", "*"])
def test_a_paused_queue_claims_nothing(driver: Driver, name: str) -> None:
    """Checklist 64. What runs ends; what waits stays untouched until the resume, and then starts at once."""
    gate = Gate()
    client = Client(driver)
    with running(driver, registry(gated=gate, quick=lambda job: None), fetch_poll_interval=NEVER) as worker:
        events = worker.events.subscribe()
        first = insert(driver, "gated")
        assert gate.began.wait(DEADLINE)
        client.queue_pause(name)
        assert next_event(events).kind == "queue_paused"
        second = insert(driver, "quick")
        gate.release.set()
        assert job_of(next_event(events)) == first.id
        assert worker._parts is not None
        assert worker._parts.producers["default"].run_once()
        assert row(driver, second.id).attempt == 0
        client.queue_resume(name)
        assert next_event(events).kind == "queue_resumed"
        assert job_of(next_event(events)) == second.id
    assert row(driver, second.id).attempt == 1


def job_of(event: Any) -> int:
    """The id of an event's job."""
    assert event.job is not None
    return int(event.job.id)


def test_a_pause_waits_for_workers_that_start_later(driver: Driver) -> None:
    """Checklist 65. They are paused from the start, and leave the pause and the metadata in the row."""
    client = Client(driver)
    with running(driver, registry(quick=lambda job: None)):
        client.queue_update("default", metadata={"owner": "mail"})
        client.queue_pause("default")
    before = client.queue_get("default")
    job = insert(driver, "quick")
    watched = Watched(driver)
    with running(watched, registry(quick=lambda job: None)) as worker:  # type: ignore[arg-type] # wraps one
        assert worker._parts is not None
        assert worker._parts.producers["default"].paused
        events = worker.events.subscribe()
        after = client.queue_get("default")
        assert (after.paused_at, after.metadata) == (before.paused_at, {"owner": "mail"})
        assert after.updated_at >= before.updated_at
        assert claims(watched) == 0
        client.queue_resume("default")
        assert next_event(events).kind == "queue_resumed"
        assert job_of(next_event(events)) == job.id


class HeldSettings(Watched):
    """Keeps the next answer about the queues back until something else has happened."""

    def __init__(self, inner: Driver) -> None:
        super().__init__(inner)
        self.wanted = False
        self.read = threading.Event()
        self.release = threading.Event()

    @contextmanager
    def connect(self) -> Iterator[Any]:
        """Lend a connection whose answer about the queues may be late."""
        with super().connect() as connection:
            fetch = connection.fetch

            def fetch_late(statement: Statement) -> list[Row]:
                rows = fetch(statement)
                if statement.name == "queue_list_timed" and self.wanted:
                    self.wanted = False
                    self.read.set()
                    assert self.release.wait(DEADLINE)
                return rows

            connection.fetch = fetch_late  # type: ignore[method-assign] # of this loan alone
            try:
                yield connection
            finally:
                connection.fetch = fetch  # type: ignore[method-assign]


def test_a_pause_that_is_heard_while_the_settings_are_read_stays(driver: Driver) -> None:
    """Checklist 64. What was read before it is older: it resumes nothing."""
    held = HeldSettings(driver)
    with running(held, registry(quick=lambda job: None), fetch_poll_interval=NEVER) as worker:  # type: ignore[arg-type] # wraps one
        events = worker.events.subscribe()
        held.wanted = True
        worker._parts.attendant.poll_now()  # type: ignore[union-attr] # it has started
        assert held.read.wait(DEADLINE)
        Client(driver).queue_pause("default")
        assert next_event(events).kind == "queue_paused"
        before = held.names["queue_list_timed"]
        held.release.set()
        wait_for(lambda: held.names["queue_list_timed"] > before, "the next look")
        Client(driver).queue_resume("default")
        assert next_event(events).kind == "queue_resumed"
    assert [event.kind for event in events] == []


def test_extra_spaces_and_strange_messages(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checklist 52, 53. Postgres' own JSON has spaces; what nobody knows is passed over."""
    monkeypatch.setattr(Attendant, "_poll_queues", lambda self: None)  # no row says what is only told here
    control, inserts = notifications.TOPIC_CONTROL, notifications.TOPIC_INSERT
    began, stopped = threading.Event(), threading.Event()

    def task(job: Job) -> None:
        began.set()
        assert job.wait_stopped(DEADLINE)
        stopped.set()

    tasks = registry(long=task, quick=lambda job: None)
    with running(driver, tasks, fetch_poll_interval=NEVER) as worker:
        events = worker.events.subscribe()
        for topic, payload in (
            (control, '{"action" : "dance", "queue" : "default"}'),
            (control, '{"action" : "pause"}'),
            (control, '{"action" : "cancel", "job_id" : "seven"}'),
            (control, "no JSON"),
            (inserts, '{"queue" : 5}'),
            (control, '{ "action" : "pause" , "queue" : "default" }'),
        ):
            send(driver, topic, payload)
        assert next_event(events).kind == "queue_paused"
        send(driver, control, '{ "action" : "resume" , "queue" : "*" }')
        assert next_event(events).kind == "queue_resumed"
        job = put(driver, kind="long", scheduled_at=DUE)
        send(driver, inserts, '{"queue" : "default"}')
        assert began.wait(DEADLINE)
        for queue in ("", ', "queue" : "mail"', ', "queue" : "*"'):
            send(driver, control, f'{{"action" : "cancel", "job_id" : {job}{queue}}}')
        send(driver, control, '{"action" : "pause", "queue" : "default"}')
        assert next_event(events).kind == "queue_paused"
        assert not stopped.is_set()
        send(driver, control, f'{{"action" : "cancel", "job_id" : {job}, "queue" : "default"}}')
        assert job_of(next_event(events)) == job
    assert run(driver, "SELECT count(*) FROM river_job")[0][0] == 1
