"""What an outcome changes in a row that is not, or not simply, the running attempt any more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from river_core.client import Client
from river_core.db import jobs
from river_core.decide import Attempt, decide
from river_core.drivers.base import Driver
from river_core.insert import InsertParams
from river_core.job import AttemptError, JobRow, JobState
from river_core.outcome import (
    Cancelled,
    Completed,
    Failed,
    FollowUp,
    StateChange,
    set_cancelled,
    set_completed,
    set_discarded,
    set_error,
    set_interrupted,
    set_snoozed,
)
from river_core.retry import DefaultRetryPolicy
from river_core.task import Job
from river_core.worker.completer import MAX_BATCH_ROWS, Completion
from river_core.worker.events import EventKind
from tests.runtime.stored import NOW, run
from tests.runtime.test_completer import Watched, claimed, completing, flush
from tests.runtime.workers import insert, next_event, registry, row, running, wait_for

ERROR = AttemptError(NOW, 1, "it broke", "")
MANY = 10_000

Make = Callable[[datetime], StateChange]
NOT_FINAL: dict[str, Make] = {
    "long retry": lambda now: set_error(now + timedelta(hours=1), False, ERROR, {"mark": 1}),
    "short retry": lambda now: set_error(now + timedelta(seconds=1), True, ERROR, {"mark": 1}),
    "long snooze": lambda now: set_snoozed(now + timedelta(hours=1), False, 0, {"mark": 1}),
    "short snooze": lambda now: set_snoozed(now, True, 0, {"mark": 1}),
    "interruption": lambda now: set_interrupted(now, 0, {"mark": 1}),
}
FINAL: dict[str, Make] = {
    "completed": lambda now: set_completed(now, {"mark": 1}, Completed()),
    "discarded": lambda now: set_discarded(now, ERROR, {"mark": 1}, Failed(ValueError())),
    "cancelled": lambda now: set_cancelled(now, ERROR, {"mark": 1}, Cancelled()),
}


def end(driver: Driver, job: JobRow, make: Make) -> JobRow:
    """Write an outcome of the attempt and return the row that it leaves."""
    flush(driver, [Completion(job, make(datetime.now(UTC)), EventKind.JOB_FAILED)])
    return row(driver, job.id)


def mark_cancelled(driver: Driver, job: JobRow) -> None:
    """Put the mark of a cancellation into a running row."""
    with driver.connect() as connection:
        connection.fetch(jobs.job_cancel(driver.sql, job.id, "2026-08-07T14:32:57Z"))


@pytest.mark.parametrize("kind", NOT_FINAL)
def test_a_mark_turns_what_is_not_final_into_cancelled(driver: Driver, kind: str) -> None:
    """Checklist 87, 88. Attempt and time are kept, an error is appended, metadata is merged."""
    [job] = claimed(driver, 1)
    mark_cancelled(driver, job)
    after = end(driver, job, NOT_FINAL[kind])
    assert (after.state, after.attempt, after.scheduled_at) == (JobState.CANCELLED, 1, job.scheduled_at)
    assert after.finalized_at is not None
    assert after.errors == ([ERROR] if kind.endswith("retry") else [])
    assert after.metadata == {"cancel_attempted_at": "2026-08-07T14:32:57Z", "mark": 1}


@pytest.mark.parametrize("kind", FINAL)
def test_a_final_outcome_ignores_the_mark(driver: Driver, kind: str) -> None:
    """Checklist 89. It is written as it is, with its own time."""
    [job] = claimed(driver, 1)
    mark_cancelled(driver, job)
    after = end(driver, job, lambda now: replace(FINAL[kind](now), finalized_at=NOW))
    assert (after.state, after.finalized_at) == (kind, NOW)
    assert after.errors == ([] if kind == "completed" else [ERROR])


MOVES = {
    "completed": "state = 'completed', finalized_at = @now{cast}",
    "discarded": "state = 'discarded', finalized_at = @now{cast}",
    "cancelled": "state = 'cancelled', finalized_at = @now{cast}",
    "available": "state = 'available'",
    "retryable": "state = 'retryable'",
    "scheduled": "state = 'scheduled'",
}


ALL = {**NOT_FINAL, **FINAL}


def end_all(driver: Driver, taken: list[JobRow]) -> list[JobRow]:
    """Write one outcome of each kind and return the rows that they leave."""
    now = datetime.now(UTC)
    changes = [make(now) for make in ALL.values()]
    flush(
        driver,
        [Completion(job, change, EventKind.JOB_FAILED) for job, change in zip(taken, changes, strict=True)],
    )
    return [row(driver, job.id) for job in taken]


@pytest.mark.parametrize("state", MOVES)
def test_a_row_that_is_not_running_takes_metadata_at_most(driver: Driver, state: str) -> None:
    """Checklist 85. Only a row that somebody finished in this very attempt takes it; nothing else changes."""
    cast = "::text::timestamptz" if driver.sql.dialect == "postgres" else ""
    taken = claimed(driver, len(ALL))
    text = f"UPDATE river_job SET {MOVES[state].format(cast=cast)}"
    run(driver, text, **({"now": driver.sql.time(NOW)} if "now" in text else {}))
    before = [row(driver, job.id) for job in taken]
    after = end_all(driver, taken)
    is_final = "finalized_at" in MOVES[state]
    assert [item.metadata for item in after] == [{"mark": 1} if is_final else {}] * len(ALL)
    assert [replace(item, encoded_metadata="{}") for item in after] == before


@pytest.mark.parametrize(
    "change", ["attempt = 2", "attempt = 2, state = 'completed', finalized_at = created_at"]
)
def test_a_stale_attempt_writes_nothing(driver: Driver, change: str) -> None:
    """Checklist 90. Neither into the new attempt nor into its end, not even metadata."""
    taken = claimed(driver, len(ALL))
    run(driver, f"UPDATE river_job SET {change}")
    before = [row(driver, job.id) for job in taken]
    assert end_all(driver, taken) == before


def test_a_deleted_row_gives_no_event(driver: Driver) -> None:
    """Checklist 86. The next job's event is the first that is heard."""

    def vanish(job: Job) -> None:
        run(driver, "DELETE FROM river_job WHERE id = @id", id=job.row.id)

    with running(driver, registry(vanish=vanish, quick=lambda job: None), queues={"default": 1}) as worker:
        events = worker.events.subscribe()
        insert(driver, "vanish")
        wait_for(lambda: worker.active == 0 and gone(driver), "the end of the deleted job")
        job = insert(driver, "quick")
        event = next_event(events)
    assert event.job is not None
    assert (event.kind, event.job.id) == (EventKind.JOB_COMPLETED, job.id)


def gone(driver: Driver) -> bool:
    """Whether no job is left."""
    return run(driver, "SELECT count(*) FROM river_job")[0][0] == 0


def test_ten_thousand_completions(driver: Driver) -> None:
    """Checklist 91. At most 5,000 in a statement; one that fails is tried again, and none is lost."""
    watched = Watched(driver)
    batch = [
        Completion(job, set_completed(NOW, {}, Completed()), EventKind.JOB_COMPLETED)
        for job in claimed(driver, MANY)
    ]
    watched.failures = 1
    with completing(watched, batch) as completer:  # type: ignore[arg-type] # wraps a Driver
        wait_for(lambda: completer.backlog == 0, "the writes")
    left = run(driver, "SELECT count(*) FROM river_job WHERE state <> 'completed'")
    assert left[0][0] == 0
    written = sum(count for name, count in watched.names.items() if name.endswith("_if_running_many"))
    assert written == MANY // MAX_BATCH_ROWS + 1
    assert MAX_BATCH_ROWS == 5_000


@pytest.mark.parametrize("is_marked", [True, False])
def test_a_job_that_goes_on_in_another_row_does_not_once_it_is_cancelled(
    driver: Driver, is_marked: bool
) -> None:
    """The mark came too late for the task to hear of it, and before the end was written."""
    [job] = claimed(driver, 1)
    if is_marked:
        mark_cancelled(driver, job)
    next_row = FollowUp(InsertParams(kind="known", encoded_args="{}"), "went_on")
    outcome = Completed({"mark": 1}, (next_row,), if_cancelled=Cancelled("late", {"mark": 2}))
    change = decide(outcome, Attempt(job, NOW, None, DefaultRetryPolicy()), datetime.now(UTC), {})
    after = end(driver, job, lambda _: change)
    expected = (JobState.CANCELLED, 2) if is_marked else (JobState.COMPLETED, 1)
    assert (after.state, after.metadata["mark"]) == expected
    assert [error.error for error in after.errors] == (["late"] if is_marked else [])
    assert len(Client(driver).job_list().jobs) == (1 if is_marked else 2)
