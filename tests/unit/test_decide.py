"""What is written for each way an attempt can end."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from river_core.decide import Attempt, decide, outcome_of
from river_core.errors import JobCancelError, JobInterruptedError, JobSnoozeError
from river_core.job import JobRow, JobState
from river_core.outcome import Cancelled, Completed, Failed, Interrupted, Snoozed
from river_core.retry import MAX_RETRY_SECONDS, DefaultRetryPolicy, retry_seconds
from river_core.task import Job, Task

NOW = datetime(2026, 8, 7, 14, 32, 57, tzinfo=UTC)
VECTORS = Path(__file__).parents[1] / "vectors"
ROW = JobRow(
    id=7,
    state=JobState.RUNNING,
    attempt=3,
    max_attempts=25,
    attempted_at=NOW,
    created_at=NOW,
    finalized_at=None,
    scheduled_at=NOW,
    priority=1,
    queue="default",
    kind="k1",
    encoded_args="{}",
    encoded_metadata="{}",
    encoded_tags="[]",
    encoded_errors=None,
    encoded_attempted_by=None,
    unique_key=None,
    unique_states=None,
)


def attempt(row: JobRow = ROW, task: Task | None = None) -> Attempt:
    """An attempt of `row` that started now."""
    return Attempt(row, NOW, task, DefaultRetryPolicy())


def with_errors(count: int) -> JobRow:
    """The row with `count` stored errors."""
    error = {"at": "2026-08-07T14:00:00Z", "attempt": 1, "error": "x", "trace": ""}
    return replace(ROW, encoded_errors=json.dumps([error] * count))


def test_success_completes_with_the_collected_metadata() -> None:
    """The outcome's own keys win over what the task collected."""
    change = decide(Completed({"a": 1}), attempt(), NOW, {"a": 0, "b": 2})
    assert (change.state, change.finalized_at, change.metadata) == (JobState.COMPLETED, NOW, {"a": 1, "b": 2})


def test_an_early_error_is_available_and_a_later_one_retryable() -> None:
    """River: a retry within the scheduler's five seconds skips the retryable state."""
    first = decide(Failed(ValueError("no")), attempt(), NOW, {})
    later = decide(Failed(ValueError("no")), attempt(with_errors(2)), NOW, {})
    assert first.state is JobState.AVAILABLE
    assert later.state is JobState.RETRYABLE
    assert later.scheduled_at is not None
    assert timedelta(seconds=81 * 0.9) <= later.scheduled_at - NOW <= timedelta(seconds=81 * 1.1)


def test_the_last_attempt_is_discarded_with_its_error() -> None:
    """attempt equal to max_attempts ends the job."""
    change = decide(Failed(ValueError("no")), attempt(replace(ROW, attempt=25)), NOW, {})
    assert change.state is JobState.DISCARDED
    assert change.error is not None
    assert change.error.to_json() == {"at": "2026-08-07T14:32:57Z", "attempt": 25, "error": "no", "trace": ""}


def test_retry_false_discards_on_the_first_attempt() -> None:
    """What adapters ask for when their own budget is used up."""
    assert decide(Failed(ValueError(), retry=False), attempt(), NOW, {}).state is JobState.DISCARDED


def test_text_that_postgres_refuses_is_replaced() -> None:
    """NUL and lone surrogates must not lose the outcome."""
    change = decide(Failed(ValueError("a\x00b\ud800")), attempt(), NOW, {})
    assert change.error is not None
    assert change.error.error == "a\ufffdb\ufffd"


@pytest.mark.parametrize(("seconds", "state"), [(0, "available"), (5, "available"), (60, "scheduled")])
def test_a_snooze_gives_the_attempt_back_and_counts(seconds: float, state: str) -> None:
    """Short snoozes are available at once; the counter goes up by one."""
    row = replace(ROW, encoded_metadata='{"snoozes": 4}')
    change = decide(Snoozed(seconds), attempt(row), NOW, {})
    assert (change.state, change.attempt, change.metadata) == (state, 2, {"snoozes": 5})
    assert change.scheduled_at == NOW + timedelta(seconds=seconds)
    assert change.error is None


def test_an_interruption_gives_the_attempt_back_without_an_error() -> None:
    """The row is available now."""
    change = decide(Interrupted(), attempt(), NOW, {})
    assert (change.state, change.attempt, change.scheduled_at) == (JobState.AVAILABLE, 2, NOW)
    assert change.error is None


@pytest.mark.parametrize(
    "wrap",
    [
        lambda error: error,
        lambda error: BaseExceptionGroup("group", [ValueError(), error]),
        lambda error: BaseExceptionGroup("outer", [BaseExceptionGroup("inner", [error])]),
        lambda error: _caused(error),
    ],
    ids=["bare", "group", "nested group", "cause"],
)
def test_control_flow_counts_however_it_is_wrapped(wrap: object) -> None:
    """Checklist 78. Cancel, snooze and interrupt are found in groups and as causes."""
    assert callable(wrap)
    assert outcome_of(wrap(JobSnoozeError(3))) == Snoozed(3)
    assert outcome_of(wrap(JobCancelError("why"))) == Cancelled("JobCancelError: why")
    assert outcome_of(wrap(JobInterruptedError())) == Interrupted()


def _caused(error: BaseException) -> BaseException:
    outer = ValueError("outer")
    outer.__cause__ = error
    return outer


def test_a_task_group_lets_a_cancel_through() -> None:
    """asyncio wraps what its tasks raise; the cancel inside still counts."""

    async def body() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(_cancelled())

    with pytest.raises(BaseException) as caught:  # noqa: PT011 - the wrapping type is asyncio's business
        asyncio.run(body())
    assert outcome_of(caught.value) == Cancelled("JobCancelError: inside")


async def _cancelled() -> None:
    raise JobCancelError("inside")


def test_except_exception_does_not_catch_control_flow() -> None:
    """A broad handler in a task cannot swallow them."""
    for error in (JobCancelError(), JobSnoozeError(1), JobInterruptedError()):
        assert not isinstance(error, Exception)


class _Own(Task):
    kind = "k1"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def next_retry(self, job: JobRow, error: BaseException) -> datetime | None:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer  # type: ignore[return-value]  # wrong answers are the point

    def retries(self, job: JobRow, error: BaseException) -> bool:
        if self.answer == "veto":
            return False
        if self.answer == "broken":
            raise RuntimeError("broken veto")
        return True

    def work(self, job: Job) -> None:
        """Never called here."""


def test_a_tasks_own_retry_time_is_taken() -> None:
    """Checklist 75. next_retry of the task overrides the policy."""
    change = decide(Failed(ValueError()), attempt(task=_Own(NOW + timedelta(hours=1))), NOW, {})
    assert change.scheduled_at == NOW + timedelta(hours=1)


@pytest.mark.parametrize("answer", [NOW - timedelta(1), datetime(2027, 1, 1), RuntimeError("broken"), 12])  # noqa: DTZ001
def test_an_unusable_retry_time_falls_back_and_keeps_the_error(answer: object) -> None:
    """Checklist 75. Past, naive, wrongly typed and raising answers give the default policy."""
    change = decide(Failed(ValueError("mine")), attempt(task=_Own(answer)), NOW, {})
    assert change.scheduled_at is not None
    assert NOW <= change.scheduled_at <= NOW + timedelta(seconds=1.1)
    assert change.error is not None
    assert change.error.error == "mine"


def test_a_veto_discards_and_a_broken_veto_does_not() -> None:
    """Checklist 76. River for Ruby: retry?."""
    assert decide(Failed(ValueError()), attempt(task=_Own("veto")), NOW, {}).state is JobState.DISCARDED
    assert decide(Failed(ValueError()), attempt(task=_Own("broken")), NOW, {}).state is JobState.AVAILABLE


def test_default_delays_are_river_s() -> None:
    """Checklist 74. The vectors of Go River: the fourth power, 10% jitter, none at the cap."""
    document = json.loads((VECTORS / "retry_policy.json").read_text())
    for entry in document["attempts"]:
        errors, expected = entry["attempt"] - 1, float(entry["base_seconds"])
        assert retry_seconds(errors, lambda low, high: 1.0) == pytest.approx(expected, rel=1e-9)
        assert retry_seconds(errors, lambda low, high: low) <= entry["seen_min"] * (1 + 1e-9)
        assert retry_seconds(errors, lambda low, high: high) >= entry["seen_max"] * (1 - 1e-9)
    assert retry_seconds(document["first_capped_attempt"] - 1) == MAX_RETRY_SECONDS
    assert retry_seconds(document["first_capped_attempt"] - 2) < MAX_RETRY_SECONDS * 1.1


def test_the_delay_counts_errors_and_not_attempts() -> None:
    """Checklist 74. Snoozes and interruptions leave no error, so they do not lengthen the delay."""
    document = json.loads((VECTORS / "retry_policy.json").read_text())
    for entry in document["count_basis"]:
        row = replace(with_errors(entry["errors_before"]), attempt=entry["attempt"])
        delay = (DefaultRetryPolicy().next_retry(row, NOW) - NOW).total_seconds()
        assert entry["base_seconds"] * 0.9 <= delay <= entry["base_seconds"] * 1.1
