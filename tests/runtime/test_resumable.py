"""Steps and cursors: a retry goes on where the attempt before it failed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core import join
from river_core.drivers.base import Driver
from river_core.errors import JobInterruptedError, JobSnoozeError, RiverError
from river_core.job import JobRow, JobState
from river_core.job_tx import job_checkpoint
from river_core.task import Job, Task
from river_core.worker.events import EventKind
from tests.conformance.raw_connections import application_connection
from tests.runtime.stored import put
from tests.runtime.workers import insert, next_event, registry, row, running

STEP, CURSOR = "river:resumable_step", "river:resumable_cursor"


def broken() -> None:
    """A step that fails."""
    raise ValueError("it broke")


def first_attempt(driver: Driver, function: Callable[[Job], Any], **options: Any) -> JobRow:
    """Work a job once and return the row; a retry is far off."""
    with running(driver, registry(one=function), retry_policy=Never()) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one", **options)
        next_event(events)
        return row(driver, job.id)


class Never:
    """Retries in an hour."""

    def next_retry(self, job: JobRow, now: Any) -> Any:
        return now + timedelta(hours=1)


class Immediately(Task):
    """A task that is retried at once."""

    kind = "one"

    def __init__(self, function: Callable[[Job], Any]) -> None:
        self.function = function

    def next_retry(self, job: JobRow, error: BaseException) -> Any:
        return datetime.now(UTC) + timedelta(milliseconds=50)

    def work(self, job: Job) -> None:
        self.function(job)


def until_done(driver: Driver, function: Callable[[Job], Any], **options: Any) -> JobRow:
    """Work a job with retries until it is completed."""
    with running(driver, registry(other=broken).add(Immediately(function))) as worker:
        done = worker.events.subscribe(EventKind.JOB_COMPLETED)
        job = insert(driver, "one", **options)
        next_event(done)
    return row(driver, job.id)


def resumable(job: JobRow) -> tuple[Any, Any]:
    """What the row holds of the two keys; `absent` where there is none."""
    return job.metadata.get(STEP, "absent"), job.metadata.get(CURSOR, "absent")


def test_a_retry_runs_only_what_is_left(driver: Driver) -> None:
    """Checklist 112. A failure in step 3 of 3 stores step 2, and the retry runs step 3 alone."""
    ran: list[str] = []
    stored: list[tuple[Any, Any]] = []

    def task(job: Job) -> None:
        stored.append(resumable(job.row))
        job.steps.run("one", lambda: ran.append("one"))
        job.steps.run("two", lambda: ran.append("two"))
        job.steps.run("three", lambda: (ran.append("three"), broken() if job.row.attempt == 1 else None))

    job = until_done(driver, task)
    assert ran == ["one", "two", "three", "three"]
    assert stored == [("absent", "absent"), ("two", "absent")]
    assert job.state is JobState.COMPLETED


def test_a_cursor_is_passed_to_the_retry(driver: Driver) -> None:
    """Checklist 113. A failing cursor step stores the step before it and its cursor; done, it is cleared."""
    cursors: list[Any] = []
    stored: list[tuple[Any, Any]] = []

    def sending(job: Job) -> Callable[[Any], None]:
        def body(cursor: Any) -> None:
            cursors.append(cursor)
            job.steps.set_cursor({"sent": 3})
            if job.row.attempt == 1:
                broken()

        return body

    def task(job: Job) -> None:
        stored.append(resumable(job.row))
        job.steps.run("prepare", lambda: None)
        job.steps.run_cursor("send", sending(job), default={"sent": 0})
        if job.row.attempt == 2:
            broken()

    until_done(driver, task)
    assert cursors == [{"sent": 0}, {"sent": 3}]
    assert stored == [
        ("absent", "absent"),
        ("prepare", {"send": {"sent": 3}}),
        ("send", None),
    ]


def test_the_first_step_s_cursor_survives(driver: Driver) -> None:
    """Checklist 114. It is stored under the step's own name, as a checkpoint would."""

    def task(job: Job) -> None:
        job.steps.run_cursor("send", lambda cursor: (job.steps.set_cursor(7), broken()))

    job = first_attempt(driver, task)
    assert resumable(job) == ("send", {"send": 7})
    assert [error.error for error in job.errors] == ["it broke"]


def test_metadata_of_a_go_job(driver: Driver) -> None:
    """Checklist 116. What Go wrote resumes at b with 1, without a."""
    ran: list[Any] = []

    def task(job: Job) -> None:
        job.steps.run("a", lambda: ran.append("a"))
        job.steps.run_cursor("b", ran.append, default=0)

    with running(driver, registry(one=task)) as worker:
        events = worker.events.subscribe()
        put(driver, kind="one", metadata={CURSOR: {"b": 1}, STEP: "a"})
        assert next_event(events).kind is EventKind.JOB_COMPLETED
    assert ran == [1]


def test_a_step_that_is_its_own_resume_point_runs_with_its_cursor(driver: Driver) -> None:
    """A stored step that has a cursor was begun, not done."""
    ran: list[Any] = []

    def task(job: Job) -> None:
        job.steps.run("a", lambda: ran.append("a"))
        job.steps.run_cursor("b", ran.append)

    with running(driver, registry(one=task)) as worker:
        events = worker.events.subscribe()
        put(driver, kind="one", metadata={CURSOR: {"b": 5}, STEP: "b"})
        assert next_event(events).kind is EventKind.JOB_COMPLETED
    assert ran == [5]


@pytest.mark.parametrize(
    ("misuse", "text"),
    [
        (lambda steps: (steps.run("a", int), steps.run_cursor("a", int)), "two steps 'a'"),
        (lambda steps: steps.run("a", lambda: steps.run("b", int)), "cannot be nested"),
        (lambda steps: steps.set_cursor(1), "call it inside one"),
    ],
    ids=["duplicate", "nested", "outside"],
)
def test_misuse_raises(driver: Driver, misuse: Callable[[Any], Any], text: str) -> None:
    """Checklist 115. A duplicate name, a nested step and a cursor outside a step fail the attempt."""
    job = first_attempt(driver, lambda job: misuse(job.steps))
    assert text in job.errors[0].error


@pytest.mark.parametrize("uses_steps", [True, False])
def test_an_unknown_stored_step_fails_at_the_end(driver: Driver, uses_steps: bool) -> None:
    """Checklist 115. The text is River's; nothing was run, and what is stored stays."""
    ran: list[str] = []

    def task(job: Job) -> None:
        if uses_steps:
            job.steps.run("a", lambda: ran.append("a"))

    with running(driver, registry(one=task), retry_policy=Never()) as worker:
        events = worker.events.subscribe()
        job_id = put(driver, kind="one", metadata={STEP: "gone"})
        assert next_event(events).kind is EventKind.JOB_FAILED
    job = row(driver, job_id)
    assert job.errors[0].error == 'river: resumable step "gone" not found in Worker'
    assert (ran, resumable(job)) == ([], ("gone", "absent"))


def test_success_writes_nothing(driver: Driver) -> None:
    """Checklist 118. No resumable key is in the row of a job that succeeded at once."""

    def task(job: Job) -> None:
        job.steps.run("a", lambda: None)
        job.steps.run_cursor("b", lambda cursor: job.steps.set_cursor(1))

    assert resumable(until_done(driver, task)) == ("absent", "absent")


@pytest.mark.parametrize("signal", [JobSnoozeError(600), JobInterruptedError(), ValueError("it broke")])
def test_progress_is_kept_however_the_attempt_ends(driver: Driver, signal: BaseException) -> None:
    """A snooze and an interruption keep it as an error does."""

    def end(signal: BaseException) -> None:
        raise signal

    def task(job: Job) -> None:
        if job.row.metadata.get(STEP) is None:
            job.steps.run("a", lambda: None)
            job.steps.run("b", lambda: end(signal))

    with running(driver, registry(one=task), retry_policy=Never(), queues={"default": 1}) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one")
        event = next_event(events)
    assert event.job is not None
    assert row(driver, job.id).metadata[STEP] == "a"


def test_a_cursor_must_be_json(driver: Driver) -> None:
    """What cannot be stored is refused where it is given."""

    def task(job: Job) -> None:
        job.steps.run("a", lambda: job.steps.set_cursor(object()))

    assert "cannot be written as JSON" in first_attempt(driver, task).errors[0].error


def test_a_checkpoint_is_stored_at_once(driver: Driver) -> None:
    """Checklist 117. While the task still runs the row holds it: it survives the death of the process."""
    seen: list[tuple[Any, Any]] = []

    def task(job: Job) -> None:
        def body(cursor: Any) -> None:
            job_checkpoint(job, cursor=5)
            seen.append(resumable(row(driver, job.row.id)))
            job_checkpoint(job)
            seen.append(resumable(row(driver, job.row.id)))

        job.steps.run_cursor("send", body)

    until_done(driver, task, metadata={"kept": 1e15})
    assert seen == [("send", {"send": 5}), ("send", None)]


@pytest.mark.parametrize("commits", [True, False])
def test_a_checkpoint_shares_the_fate_of_its_transaction(
    driver: Driver, database_url: str, commits: bool
) -> None:
    """Checklist 117. Rolled back it is not written when the attempt ends; committed it is there."""

    def task(job: Job) -> None:
        def body(cursor: Any) -> None:
            with application_connection(database_url) as connection, join(connection):
                job_checkpoint(job, cursor=5)
                if commits:
                    connection.commit()
                else:
                    connection.rollback()
            broken()

        job.steps.run("prepare", lambda: None)
        job.steps.run_cursor("send", body)

    expected = ("send", {"send": 5}) if commits else ("prepare", "absent")
    assert resumable(first_attempt(driver, task)) == expected


def test_an_earlier_committed_checkpoint_stays_when_a_later_one_is_rolled_back(
    driver: Driver, database_url: str
) -> None:
    """The row decides: the newest that was committed counts, given by its connection here."""

    def task(job: Job) -> None:
        def body(cursor: Any) -> None:
            with application_connection(database_url) as connection:
                job_checkpoint(job, cursor=5, connection=connection)
                connection.commit()
                job_checkpoint(job, cursor=6, connection=connection)
                connection.rollback()
            broken()

        job.steps.run_cursor("send", body)

    assert resumable(first_attempt(driver, task)) == ("send", {"send": 5})


def test_work_after_a_rolled_back_checkpoint_counts(driver: Driver, database_url: str) -> None:
    """What the step did later, outside that transaction, is what a retry goes on from."""

    def task(job: Job) -> None:
        def body() -> None:
            with application_connection(database_url) as connection:
                job_checkpoint(job, connection=connection)
                connection.rollback()

        job.steps.run("a", body)
        job.steps.run("b", broken)

    assert resumable(first_attempt(driver, task)) == ("a", "absent")


def test_a_checkpoint_outside_a_step_or_a_worker_is_refused(driver: Driver) -> None:
    """Nothing is written."""
    job = first_attempt(driver, job_checkpoint)
    assert job.errors[0].error.startswith("there is no step")
    with pytest.raises(RiverError):
        job_checkpoint(Job(job))
