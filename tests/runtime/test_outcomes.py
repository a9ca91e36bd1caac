"""A real worker leaves the row that River's state machine asks for, whichever way a job ends."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core import join
from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import JobCancelError, JobSnoozeError
from river_core.job import JobRow, JobState
from river_core.task import Job, Task
from river_core.worker.events import EventKind
from tests.runtime.workers import insert, next_event, registry, row, running, wait_for


def work_one(driver: Driver, function: Any, **options: Any) -> tuple[EventKind, JobRow]:
    """Insert one job, work it, and return the event and the row that it left."""
    with running(driver, registry(work_one=function), claims=1) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "work_one", **options)
        event = next_event(events)
    assert event.job is not None
    assert event.job.id == job.id
    return event.kind, row(driver, job.id)


def test_success(driver: Driver) -> None:
    """Checklist 69. completed, finalized, claimed once by this worker, no errors."""
    due = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1)
    kind, job = work_one(driver, lambda job: None, scheduled_at=due, state=JobState.AVAILABLE)
    assert kind is EventKind.JOB_COMPLETED
    assert (job.scheduled_at, job.encoded_errors) == (due, None)
    assert (job.state, job.attempt, job.errors) == (JobState.COMPLETED, 1, [])
    assert job.finalized_at is not None
    assert job.attempted_at is not None
    assert job.finalized_at >= job.attempted_at - timedelta(seconds=1)
    assert len(job.attempted_by) == 1


def test_metadata_and_output_are_merged(driver: Driver) -> None:
    """Checklist 92. Other keys and their digits stay; nested values are replaced; null is stored."""

    def task(job: Job) -> None:
        job.update_metadata({"nested": {"new": 1}, "none": None})
        job.record_output({"answer": 42})

    _, job = work_one(driver, task, metadata={"kept": 12345678901234567890, "nested": {"old": 1}})
    stored = {key: value for key, value in job.metadata.items() if key != "river:unique_nonce"}
    assert stored == {
        "kept": 12345678901234567890,
        "nested": {"new": 1},
        "none": None,
        "output": {"answer": 42},
    }


def test_an_errors_text_loses_what_postgres_refuses(driver: Driver) -> None:
    """Checklist 30. NUL and half of a surrogate pair are replaced, and the attempt fails as any other."""

    def task(job: Job) -> None:
        raise ValueError("nul \x00 and half \ud800")

    kind, job = work_one(driver, task)
    assert kind is EventKind.JOB_FAILED
    assert "nul \ufffd and half \ufffd" in job.errors[0].error
    assert "\x00" not in job.errors[0].trace


def test_error(driver: Driver) -> None:
    """The first error retries within seconds: available, due in the future, the error recorded.

    Checklist 70.
    """

    def task(job: Job) -> None:
        raise ValueError("it broke")

    kind, job = work_one(driver, task, metadata={"a": 1})
    assert kind is EventKind.JOB_FAILED
    assert (job.state, job.attempt) == (JobState.AVAILABLE, 1)
    [error] = job.errors
    assert (error.attempt, error.error) == (1, "it broke")
    assert "ValueError: it broke" in error.trace
    assert job.attempted_at is not None
    assert job.scheduled_at > job.attempted_at


def test_last_attempt(driver: Driver) -> None:
    """Checklist 72. An error in the last attempt discards the job."""

    def task(job: Job) -> None:
        raise ValueError("it broke")

    kind, job = work_one(driver, task, max_attempts=1)
    assert kind is EventKind.JOB_FAILED
    assert job.state is JobState.DISCARDED
    assert job.finalized_at is not None
    assert [(error.attempt, error.error) for error in job.errors] == [(1, "it broke")]


def test_a_retry_runs_again_when_it_is_due(driver: Driver) -> None:
    """Checklist 70. The row is claimed again by itself, and the second attempt completes it."""
    attempts: list[int] = []
    early: list[datetime] = []

    def task(job: Job) -> None:
        attempts.append(job.row.attempt)
        if len(attempts) == 1:
            raise ValueError("once")
        assert job.row.attempted_at is not None
        if job.row.attempted_at < job.row.scheduled_at:
            early.append(job.row.scheduled_at)

    with running(driver, registry(twice=task)) as worker:
        events = worker.events.subscribe(EventKind.JOB_COMPLETED)
        job = insert(driver, "twice")
        next_event(events)
    after = row(driver, job.id)
    assert attempts == [1, 2]
    assert early == []
    assert (after.state, after.attempt, len(after.errors)) == (JobState.COMPLETED, 2, 1)


def test_cancel(driver: Driver) -> None:
    """Checklist 78. A task that cancels itself ends `cancelled` with the reason as its error."""

    def task(job: Job) -> None:
        raise JobCancelError("not needed")

    kind, job = work_one(driver, task)
    assert kind is EventKind.JOB_CANCELLED
    assert job.state is JobState.CANCELLED
    assert [error.error for error in job.errors] == ["JobCancelError: not needed"]
    assert job.finalized_at is not None


def test_cancel_inside_another_exception(driver: Driver) -> None:
    """Checklist 78. As a cause or in a group it is still a cancel, with the same text."""

    def caused(job: Job) -> None:
        try:
            raise JobCancelError("not needed")
        except JobCancelError as error:
            raise RuntimeError("the clean-up broke") from error

    def grouped(job: Job) -> None:
        raise BaseExceptionGroup("several", [ValueError("x"), JobCancelError("not needed")])

    for task in (caused, grouped):
        kind, job = work_one(driver, task)
        assert (kind, job.state) == (EventKind.JOB_CANCELLED, JobState.CANCELLED)
        assert [error.error for error in job.errors] == ["JobCancelError: not needed"]


@pytest.mark.parametrize(("seconds", "state"), [(5, JobState.AVAILABLE), (60, JobState.SCHEDULED)])
def test_snooze(driver: Driver, seconds: float, state: JobState) -> None:
    """Checklist 79. The attempt is given back and counted as a snooze."""

    def task(job: Job) -> None:
        raise JobSnoozeError(seconds)

    kind, job = work_one(driver, task)
    assert kind is EventKind.JOB_SNOOZED
    assert (job.state, job.attempt, job.metadata["snoozes"], job.errors) == (state, 0, 1, [])
    assert job.attempted_at is not None
    assert job.scheduled_at - job.attempted_at >= timedelta(seconds=seconds) - timedelta(seconds=0.01)


def test_snoozes_are_counted(driver: Driver) -> None:
    """Checklist 79. One of no time at all makes the job available at once; each counts, none is an error."""

    def task(job: Job) -> None:
        if job.row.metadata.get("snoozes", 0) < 2:
            raise JobSnoozeError(0)

    with running(driver, registry(patient=task)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "patient")
        snoozed = [next_event(events), next_event(events)]
        assert next_event(events).kind is EventKind.JOB_COMPLETED
    assert [event.kind for event in snoozed] == [EventKind.JOB_SNOOZED] * 2
    after = row(driver, job.id)
    assert (after.attempt, after.encoded_errors, after.metadata["snoozes"]) == (1, None, 2)


def test_unknown_kind(driver: Driver) -> None:
    """Checklist 80. It fails by River's rules, and its text names the kind."""
    with running(driver, registry(known=lambda job: None), claims=1) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "stranger")
        assert next_event(events).kind is EventKind.JOB_FAILED
    after = row(driver, job.id)
    assert (after.state, after.attempt) == (JobState.AVAILABLE, 1)
    assert after.scheduled_at > job.scheduled_at
    [error] = after.errors
    assert error.error == "job kind is not registered in the client's Workers bundle: stranger"


def test_unknown_kinds_stay_when_only_known_ones_are_fetched(driver: Driver) -> None:
    """Checklist 66. fetch_only_known_kinds leaves a stranger's row as it was."""
    with running(driver, registry(known=lambda job: None), fetch_only_known_kinds=True) as worker:
        events = worker.events.subscribe()
        stranger = insert(driver, "stranger")
        insert(driver, "known")
        next_event(events)
    after = row(driver, stranger.id)
    assert (after.state, after.attempt, after.attempted_by) == (JobState.AVAILABLE, 0, [])


@pytest.mark.foreign_rows
def test_a_broken_row_fails_alone(driver: Driver) -> None:
    """Checklist 81. A row whose args are no object fails; its neighbour in the same claim runs."""
    ran: list[int] = []

    def task(job: Job) -> None:
        assert isinstance(job.args, dict)
        ran.append(job.row.id)

    with running(driver, registry(reads=task), claims=1) as worker:
        events = worker.events.subscribe()
        with driver.connect() as connection, connection.transaction(), join(connection.raw):
            broken, healthy = (insert(driver, "reads") for _ in range(2))
            connection.run_script(f"UPDATE river_job SET args = jsonb('[1]') WHERE id = {broken.id}")
        kinds = {next_event(events).kind, next_event(events).kind}
    assert kinds == {EventKind.JOB_FAILED, EventKind.JOB_COMPLETED}
    assert ran == [healthy.id]
    assert row(driver, broken.id).errors[0].error.startswith("job row couldn't be decoded: args")


class _Slow(Task):
    kind = "slow"

    def timeout(self, job: JobRow) -> float:
        return 0.2

    def work(self, job: Job) -> None:
        while True:
            job.wait_stopped(0.01)


def test_a_time_out_is_raised_inside_the_task(driver: Driver) -> None:
    """Checklist 82. The attempt fails with JobTimeoutError and is retried."""
    with running(driver, registry(other=lambda job: None).add(_Slow()), claims=1) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "slow")
        assert next_event(events).kind is EventKind.JOB_FAILED
    [error] = row(driver, job.id).errors
    assert error.error == "job timed out after 0.2s"


def test_order_is_priority_then_time_then_id(driver: Driver) -> None:
    """Checklist 58. One slot works what is urgent first."""
    order: list[int] = []
    done = threading.Event()

    def task(job: Job) -> None:
        order.append(job.row.id)
        if len(order) == 4:
            done.set()

    low = insert(driver, "ordered", priority=4)
    first = insert(driver, "ordered")
    second = insert(driver, "ordered")
    urgent_but_later = insert(driver, "ordered", priority=2)
    with running(driver, registry(ordered=task), queues={"default": 1}):
        assert done.wait(60)
    assert order == [first.id, second.id, urgent_but_later.id, low.id]


def test_a_future_job_starts_when_it_is_due(driver: Driver) -> None:
    """Checklist 58, 132. It is not claimed before its time."""
    started: list[datetime] = []
    due = datetime.now(UTC) + timedelta(seconds=1.5)
    with running(driver, registry(later=lambda job: started.append(datetime.now(UTC)))):
        insert(driver, "later", scheduled_at=due)
        wait_for(lambda: started, "the start of the scheduled job")
    assert started[0] >= due


class _BrokenTimeout(Task):
    kind = "broken_timeout"

    def timeout(self, job: JobRow) -> float:
        raise ZeroDivisionError("no limit can be told")

    def work(self, job: Job) -> None:
        """Never reached."""


def test_a_task_that_breaks_outside_its_body_fails_that_attempt(driver: Driver) -> None:
    """The slot is free again and the row does not stay running."""
    tasks = registry(quick=lambda job: None).add(_BrokenTimeout())
    with running(driver, tasks, queues={"default": 1}) as worker:
        events = worker.events.subscribe()
        broken = insert(driver, "broken_timeout", max_attempts=1)
        assert next_event(events).kind is EventKind.JOB_FAILED
        insert(driver, "quick")
        assert next_event(events).kind is EventKind.JOB_COMPLETED
    assert row(driver, broken.id).errors[0].error == "no limit can be told"


@pytest.mark.foreign_rows
@pytest.mark.parametrize("column", ["args", "metadata", "tags", "errors", "attempted_by"])
@pytest.mark.parametrize("blob", ["x'ff'", "x'4b0102'", "'{'", "'text'", "x''", "7"])
def test_a_malformed_value_on_sqlite_fails_alone(sqlite_driver: Driver, column: str, blob: str) -> None:
    """SQLite checks no JSON; a stranger's broken blob must not fail the claim that its row is part of."""
    ran: list[int] = []

    def task(job: Job) -> None:
        assert isinstance(job.args, dict)
        assert isinstance(job.row.metadata, dict)
        ran.append(job.row.id)

    with running(sqlite_driver, registry(reads=task)) as worker:
        events = worker.events.subscribe(EventKind.JOB_COMPLETED)
        with sqlite_driver.connect() as connection, connection.transaction(), join(connection.raw):
            before, broken, after = (insert(sqlite_driver, "reads") for _ in range(3))
            connection.run_script(f"UPDATE river_job SET {column} = {blob} WHERE id = {broken.id}")
        ended = {event.job.id for event in (next_event(events), next_event(events)) if event.job}
        assert ended >= {before.id, after.id} or broken.id in ended
        wait_for(
            lambda: row(sqlite_driver, broken.id).state is not JobState.RUNNING, "the end of the broken row"
        )
    assert {before.id, after.id} <= set(ran)
    errors = row(sqlite_driver, broken.id).encoded_errors
    if column in ("args", "metadata"):
        assert errors is not None
        assert "job row couldn't be decoded" in errors


@pytest.mark.foreign_rows
@pytest.mark.postgres
@pytest.mark.parametrize(
    "change",
    [
        "created_at = 'infinity'",
        "created_at = '0044-03-15 BC'",
        "scheduled_at = '-infinity'",
        "attempted_by = ARRAY[['a','b'],['c','d']]",
        "attempted_by = '[0:1]={a,b}'::text[]",
        "errors = ARRAY[['{}','{}'],['1','2']]::jsonb[]",
        "attempt = -32768",
    ],
)
def test_a_row_that_only_postgres_allows_fails_alone(postgres_driver: Driver, change: str) -> None:
    """It does not stop the claim, is not left running, and its neighbours run."""
    ran: list[int] = []
    before, strange, after = (insert(postgres_driver, "any") for _ in range(3))
    with postgres_driver.connect() as connection:
        connection.run_script(f"UPDATE river_job SET {change} WHERE id = {strange.id}")

    def task(job: Job) -> None:
        ran.append(job.row.id)
        if job.row.id == strange.id:
            raise ValueError("its error is appended to whatever is there")

    with running(postgres_driver, registry(any=task)):
        wait_for(lambda: {before.id, strange.id, after.id} <= set(ran), "all three runs")
        for job in (before, after, strange):
            wait_for(lambda job=job: row(postgres_driver, job.id).state is not JobState.RUNNING, "its end")
    assert [row(postgres_driver, job.id).state for job in (before, after)] == [JobState.COMPLETED] * 2
    assert row(postgres_driver, strange.id).errors[-1].error.startswith("its error is appended")


def test_a_task_may_be_told_that_its_outcome_is_written(driver: Driver) -> None:
    """The callback finds the outcome in the database, in the thread of the attempt, and may raise."""
    seen: list[object] = []

    def task(job: Job) -> None:
        thread = threading.current_thread()

        def after(state: JobState | None) -> None:
            seen.append((state, row(driver, job.row.id).state, threading.current_thread() is thread))
            raise ZeroDivisionError

        job.after_write(after)
        job.after_write(lambda state: seen.append(state))
        if job.args.get("fail"):
            raise ValueError("no")

    with running(driver, registry(task=task), queues={"default": 1}) as worker:
        for args, state in (("{}", JobState.COMPLETED), ('{"fail": true}', JobState.DISCARDED)):
            insert(driver, "task", args, max_attempts=1)
            wait_for(lambda: len(seen) == 2 and worker.active == 0, "both callbacks")
            assert seen == [(state, state, True), state]
            seen.clear()


def test_an_outcome_that_changes_nothing_is_told_as_none(driver: Driver) -> None:
    """Somebody else has the row by then."""
    seen: list[object] = []

    def task(job: Job) -> None:
        job.after_write(seen.append)
        Client(driver).job_update(job.row.id, attempt=7)

    with running(driver, registry(task=task)):
        insert(driver, "task")
        wait_for(lambda: seen, "the callback")
    assert seen == [None]
