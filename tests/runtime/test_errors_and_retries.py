"""What a failed attempt leaves in the row, who decides when it runs again, and what time-outs count."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.encoding import sanitize_text
from river_core.errors import JobInterruptedError, JobSnoozeError
from river_core.job import AttemptError, JobRow, JobState
from river_core.task import Job, Registry, Task
from river_core.worker.events import EventKind
from tests.runtime.stored import NOW, put, read, run, states
from tests.runtime.workers import DEADLINE, insert, next_event, registry, row, running, wait_for
from tests.vectors import load

HOUR = timedelta(hours=1)
RAW_ERRORS = {
    Dialect.POSTGRES: "SELECT to_jsonb(errors)::text FROM river_job WHERE id = @id",
    Dialect.SQLITE: "SELECT json(errors) FROM river_job WHERE id = @id",
}


class Failing(Task):
    """Always fails, with answers of its own to who asks about the retry."""

    kind = "failing"

    def __init__(self, answer: Any = None, veto: Any = True) -> None:
        self.answer, self.veto = answer, veto

    def work(self, job: Job) -> None:
        raise ValueError(f"failure {job.row.attempt}")

    def next_retry(self, job: JobRow, error: BaseException) -> Any:
        return raised(self.answer)

    def retries(self, job: JobRow, error: BaseException) -> Any:
        return raised(self.veto)


def raised(answer: Any) -> Any:
    """Return an answer, or raise it."""
    if isinstance(answer, BaseException):
        raise answer
    return answer


class Daily:
    """A policy of the worker."""

    def next_retry(self, job: JobRow, now: datetime) -> datetime:
        return now + timedelta(days=1)


def failed(driver: Driver, task: Task, **options: Any) -> JobRow:
    """Work one job of a task that fails and return its row."""
    with running(driver, Registry().add(task), claims=1, **options) as worker:
        events = worker.events.subscribe()
        job = insert(driver, task.kind)
        assert next_event(events).kind is EventKind.JOB_FAILED
    return row(driver, job.id)


def test_a_later_retry_waits_as_retryable(driver: Driver) -> None:
    """Checklist 71. More than five seconds away; the scheduler brings it back."""
    when = (datetime.now(UTC) + HOUR).replace(microsecond=0)
    job = failed(driver, Failing(when))
    assert (job.state, job.scheduled_at, job.finalized_at) == (JobState.RETRYABLE, when, None)
    assert [error.error for error in job.errors] == ["failure 1"]


def test_the_shape_of_errors(driver: Driver) -> None:
    """Checklist 73. Four fields, a time with a zone, whole numbers, texts; the oldest comes first."""
    at_once = Failing()
    at_once.next_retry = lambda job, error: datetime.now(UTC) + timedelta(seconds=0.01)  # type: ignore[method-assign]
    with running(driver, Registry().add(at_once)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "failing", max_attempts=3)
        for _ in range(3):
            next_event(events)
    errors = json.loads(run(driver, RAW_ERRORS[driver.sql.dialect], id=job.id)[0][0])
    assert [set(error) for error in errors] == [{"at", "attempt", "error", "trace"}] * 3
    assert [error["attempt"] for error in errors] == [1, 2, 3]
    assert [type(error["attempt"]) for error in errors] == [int] * 3
    assert [error["error"] for error in errors] == ["failure 1", "failure 2", "failure 3"]
    assert all("ValueError: failure" in error["trace"] for error in errors)
    times = [datetime.fromisoformat(error["at"]) for error in errors]
    assert times == sorted(times)
    assert all(error["at"].endswith("Z") for error in errors)
    after = row(driver, job.id)
    assert after.attempted_at is not None
    assert abs(times[2] - after.attempted_at) < timedelta(minutes=1)


@pytest.mark.parametrize("text", ["a\x00b", "half \ud800"])
def test_an_error_text_is_made_storable(driver: Driver, text: str) -> None:
    """Checklist 30. The outcome is not lost over it."""

    def task(job: Job) -> None:
        raise ValueError(text)

    with running(driver, registry(odd=task), claims=1) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "odd")
        assert next_event(events).kind is EventKind.JOB_FAILED
    [error] = row(driver, job.id).errors
    assert error.error == sanitize_text(text) != text
    assert "\x00" not in error.trace


def test_a_tasks_own_time_goes_before_the_policy(driver: Driver) -> None:
    """Checklist 75. Without one of its own the worker's policy counts."""
    when = (datetime.now(UTC) + HOUR).replace(microsecond=0)
    assert failed(driver, Failing(when), retry_policy=Daily()).scheduled_at == when
    later = failed(driver, Failing(None), retry_policy=Daily()).scheduled_at
    assert later - when > timedelta(hours=20)


@pytest.mark.parametrize(
    "answer",
    [NOW - HOUR, datetime(2999, 1, 1), RuntimeError("no answer"), "soon"],  # noqa: DTZ001 - naive is a case
    ids=["past", "naive", "raising", "text"],
)
def test_an_unusable_time_means_the_default(driver: Driver, answer: Any) -> None:
    """Checklist 75. About a second after the first failure, whose own error is kept."""
    job = failed(driver, Failing(answer), retry_policy=Daily())
    assert job.attempted_at is not None
    assert job.state is JobState.AVAILABLE
    assert timedelta(0) < job.scheduled_at - job.attempted_at < timedelta(minutes=1)
    assert [error.error for error in job.errors] == ["failure 1"]


def test_a_veto_ends_the_job(driver: Driver) -> None:
    """Checklist 76. At its first attempt, with the error; a veto that raises is none."""
    job = failed(driver, Failing(veto=False))
    assert (job.state, job.attempt, [error.error for error in job.errors]) == (
        JobState.DISCARDED,
        1,
        ["failure 1"],
    )
    again = failed(driver, Failing(veto=RuntimeError("no answer")))
    assert (again.state, [error.error for error in again.errors]) == (JobState.AVAILABLE, ["failure 1"])


ODD = [
    ({"at": "yesterday", "attempt": "3", "error": None, "trace": {"a": 1}}, (0, 3, "", '{"a":1}')),
    ({"at": "2026-01-02T03:04:05.123456789-05:00", "attempt": 2.0, "error": 5}, (1, 2, "5", "")),
    ("just a text", (0, 0, "just a text", "")),
    ([1, "é"], (0, 0, '[1,"é"]', "")),
]


@pytest.mark.foreign_rows
def test_odd_errors_are_read_and_appended_to(driver: Driver) -> None:
    """Checklist 81. The job runs and sees them; what was stored stays before its own error."""
    stored = [element for element, _ in ODD]
    seen: list[list[AttemptError]] = []

    def task(job: Job) -> None:
        seen.append(job.row.errors)
        raise ValueError("mine")

    with running(driver, registry(reader=task), claims=1) as worker:
        events = worker.events.subscribe()
        job = put(driver, kind="reader", errors=stored, scheduled_at=NOW)
        assert next_event(events).kind is EventKind.JOB_FAILED
    read_as = [(error.at.year > 1, error.attempt, error.error, error.trace) for error in seen[0]]
    assert read_as == [(bool(dated), *rest) for _, (dated, *rest) in ODD]
    assert seen[0][1].at == datetime(2026, 1, 2, 8, 4, 5, 123456, tzinfo=UTC)
    raw = json.loads(run(driver, RAW_ERRORS[driver.sql.dialect], id=job)[0][0])
    assert raw[:-1] == stored
    assert raw[-1]["error"] == "mine"


@pytest.mark.foreign_rows
def test_an_error_history_that_is_no_json_is_kept_as_text(sqlite_driver: Driver) -> None:
    """Checklist 81. The attempt fails as undecodable; both can be read by everybody afterwards."""
    ran: list[int] = []
    job, healthy = put(sqlite_driver, scheduled_at=NOW), put(sqlite_driver, scheduled_at=NOW)
    run(sqlite_driver, "UPDATE river_job SET errors = 'no JSON at all' WHERE id = @id", id=job)
    with running(sqlite_driver, registry(known=lambda job: ran.append(job.row.id)), claims=1):
        wait_for(lambda: states(sqlite_driver, healthy) == ["completed"], "the neighbour")
        wait_for(lambda: states(sqlite_driver, job) != ["running"], "the end of the broken one")
    raw = json.loads(run(sqlite_driver, RAW_ERRORS[Dialect.SQLITE], id=job)[0][0])
    assert len(raw) == 2
    assert isinstance(raw[0], str)
    assert raw[1]["error"].startswith("job row couldn't be decoded: errors")
    assert ran == [healthy]


class Limited(Task):
    """A task with a time-out of its own that waits for a stop."""

    kind = "limited"

    def __init__(self, timeout: float | None, seconds: float = DEADLINE) -> None:
        self.limit, self.seconds = timeout, seconds

    def timeout(self, job: JobRow) -> float | None:
        return self.limit

    def work(self, job: Job) -> None:
        for _ in range(int(self.seconds / 0.01)):
            job.wait_stopped(0.01)


@pytest.mark.parametrize(("own", "workers"), [(0, 0.1), (0.1, 60), (0.1, None)])
def test_whose_time_out_counts(driver: Driver, own: float, workers: float | None) -> None:
    """Checklist 82. The task's, and the worker's where the task says 0."""
    job = failed(driver, Limited(own), job_timeout=workers)
    assert [error.error for error in job.errors] == ["job timed out after 0.1s"]


@pytest.mark.parametrize("own", [None, -1])
def test_a_task_may_have_no_time_out(driver: Driver, own: float | None) -> None:
    """Checklist 82. Then the worker's does not end it either, though it lasts five times as long."""
    with running(driver, Registry().add(Limited(own, seconds=0.5)), job_timeout=0.1) as worker:
        events = worker.events.subscribe()
        insert(driver, "limited")
        assert next_event(events).kind is EventKind.JOB_COMPLETED


def test_the_error_handler_is_not_asked_about_an_interruption(driver: Driver) -> None:
    """Checklist 77. The worker's stop is nobody's error."""
    asked: list[BaseException] = []
    began = threading.Event()

    def task(job: Job) -> None:
        began.set()
        assert job.wait_stopped(DEADLINE)
        raise JobInterruptedError

    handler = lambda job, error: asked.append(error)  # noqa: E731 - one line says it
    with running(driver, registry(long=task), error_handler=handler) as worker:
        events = worker.events.subscribe()
        insert(driver, "long")
        assert began.wait(DEADLINE)
        worker.stop_and_cancel()
        assert next_event(events).kind is EventKind.JOB_INTERRUPTED
    assert asked == []


SNOOZES = load("upstream/fixtures/maintenance_values.json")["snooze_counters"]


@pytest.mark.parametrize("case", SNOOZES, ids=lambda case: case["name"])
def test_snooze_counters_are_rivers(driver: Driver, case: dict[str, Any]) -> None:
    """Checklist 165. Whatever another client has left under the key."""

    def snooze(job: Job) -> None:
        raise JobSnoozeError(600)

    with running(driver, registry(patient=snooze)) as worker:
        events = worker.events.subscribe()
        job = put(driver, kind="patient", metadata=case["metadata"], scheduled_at=NOW)
        assert next_event(events).kind is EventKind.JOB_SNOOZED
    assert read(driver, job).metadata["snoozes"] == case["expected_snoozes"]
