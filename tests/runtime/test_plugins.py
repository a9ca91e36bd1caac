"""Plugins around attempts: their order, what they may change, and the error handler behind them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from river_core import ConfigurationError, FinalizeAction, Metric, Plugin
from river_core.drivers.base import Driver
from river_core.errors import JobCancelError, JobSnoozeError
from river_core.insert import EncodedArgs, InsertOpts
from river_core.job import JobRow, JobState
from river_core.outcome import Cancelled, Completed, Failed, Outcome
from river_core.plugins import WorkOperation
from river_core.task import FunctionTask, Job
from river_core.worker.config import WorkerConfig
from river_core.worker.events import EventKind
from tests.runtime.stored import NOW, put, run, states
from tests.runtime.workers import insert, next_event, registry, row, running, wait_for


class Recorder(Plugin):
    """Notes every call under its name."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self.name, self.calls = name, calls

    def work(self, job: Job, operation: WorkOperation) -> Outcome | None:
        self.calls.append(f"{self.name} before")
        try:
            return operation()
        finally:
            self.calls.append(f"{self.name} after")

    def work_begin(self, job: Job) -> None:
        self.calls.append(f"{self.name} begin")

    def work_end(self, job: Job, error: BaseException | None) -> BaseException | None:
        self.calls.append(f"{self.name} end")
        return error


class Ending(Plugin):
    """Answers `work_end` by a function of the error."""

    def __init__(self, answer: Callable[[BaseException | None], BaseException | None]) -> None:
        self.answer = answer

    def work_end(self, job: Job, error: BaseException | None) -> BaseException | None:
        return self.answer(error)


def worked(driver: Driver, function: Any, *plugins: Plugin, **options: Any) -> tuple[EventKind, JobRow]:
    """Work one job with plugins; return the event and the row that it left."""
    with running(driver, registry(one=function), claims=1, plugins=plugins, **options) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one")
        kind = next_event(events).kind
    return kind, row(driver, job.id)


def fail(job: Job) -> None:
    """A task that raises."""
    raise ValueError("it broke")


def test_nesting_order(driver: Driver) -> None:
    """Checklist 121. Middleware A before B, begin A B, the worker, end A B, middleware B after A."""
    calls: list[str] = []
    a, b, own = (Recorder(name, calls) for name in ("A", "B", "task"))
    task = FunctionTask("one", lambda job: calls.append("worker"))
    task.plugins = (own, a)
    tasks = registry().add(task)
    with running(driver, tasks, plugins=(a, b, a)) as worker:
        events = worker.events.subscribe()
        insert(driver, "one")
        assert next_event(events).kind is EventKind.JOB_COMPLETED
    assert calls == [
        *("A before", "B before", "task before"),
        *("A begin", "B begin", "task begin"),
        "worker",
        *("A end", "B end", "task end"),
        *("task after", "B after", "A after"),
    ]


def test_work_begin_that_raises_skips_worker_and_end_hooks(driver: Driver) -> None:
    """Checklist 123. The attempt fails with that error; neither the task nor an end hook ran."""
    calls: list[str] = []

    class Refusing(Plugin):
        def work_begin(self, job: Job) -> None:
            raise PermissionError("not now")

    kind, job = worked(driver, lambda job: calls.append("worker"), Recorder("A", calls), Refusing())
    assert kind is EventKind.JOB_FAILED
    assert job.errors[0].error == "not now"
    assert calls == ["A before", "A begin", "A after"]


def test_work_end_may_clear_the_failure(driver: Driver) -> None:
    """Checklist 123. Returning None completes the job."""
    kind, job = worked(driver, fail, Ending(lambda error: None))
    assert (kind, job.state, job.errors) == (EventKind.JOB_COMPLETED, JobState.COMPLETED, [])


def test_work_end_may_snooze(driver: Driver) -> None:
    """Checklist 123. Returning a snooze selects it: the attempt is given back, no error is stored."""
    kind, job = worked(driver, fail, Ending(lambda error: JobSnoozeError(600)))
    assert (kind, job.state, job.attempt, job.errors) == (
        EventKind.JOB_SNOOZED,
        JobState.SCHEDULED,
        0,
        [],
    )


def test_work_end_that_raises_is_the_outcome(driver: Driver) -> None:
    """The chain stops there, and its error is stored instead of the task's."""
    seen: list[BaseException | None] = []

    def refuse(error: BaseException | None) -> BaseException | None:
        raise LookupError("the hook broke")

    def see(error: BaseException | None) -> BaseException | None:
        seen.append(error)
        return error

    _, job = worked(driver, fail, Ending(see), Ending(refuse), Ending(see))
    assert [str(error) for error in seen] == ["it broke"]
    assert job.errors[0].error == "the hook broke"


@pytest.mark.parametrize("by_value", [False, True])
def test_work_end_sees_a_cancel(driver: Driver, by_value: bool) -> None:
    """A cancel, raised or returned, is the error of the hook, and stays the outcome when handed on."""
    seen: list[str] = []

    def task(job: Job) -> Outcome:
        if by_value:
            return Cancelled("JobCancelError: no need")
        raise JobCancelError("no need")

    def see(error: BaseException | None) -> BaseException | None:
        seen.append(f"{type(error).__name__}: {error}")
        return error

    kind, job = worked(driver, task, Ending(see))
    assert seen == ["JobCancelError: JobCancelError: no need"]
    assert kind is EventKind.JOB_CANCELLED
    assert job.errors[0].error == "JobCancelError: no need"


def test_outcomes_returned_as_values_pass_through(driver: Driver) -> None:
    """Middleware that returns nothing does not lose what the task returned; hooks see the error in it."""
    seen: list[str] = []

    class Silent(Plugin):
        def work(self, job: Job, operation: WorkOperation) -> Outcome | None:
            operation()
            return None

    def see(error: BaseException | None) -> BaseException | None:
        seen.append(str(error))
        return error

    def task(job: Job) -> Outcome:
        return Failed(ValueError("by value"), {"kept": 1}, retry=False)

    kind, job = worked(driver, task, Silent(), Ending(see))
    assert (kind, job.state, job.metadata["kept"]) == (EventKind.JOB_FAILED, JobState.DISCARDED, 1)
    assert seen == ["by value"]


def test_middleware_may_try_again_and_decide(driver: Driver) -> None:
    """It sees the task's exception, may call the operation again, and may return an outcome of its own."""
    calls: list[int] = []

    class Again(Plugin):
        def work(self, job: Job, operation: WorkOperation) -> Outcome | None:
            try:
                return operation()
            except ValueError:
                operation()
                return Completed({"tried": 2})

    def task(job: Job) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("once")

    kind, job = worked(driver, task, Again())
    assert (kind, job.metadata["tried"], len(calls)) == (EventKind.JOB_COMPLETED, 2, 2)


@pytest.mark.foreign_rows
def test_a_row_that_cannot_be_read_fails_before_plugins(driver: Driver) -> None:
    """Checklist 81. No plugin sees the job; the error has River's prefix."""
    calls: list[str] = []
    broken = put(driver, kind="one", args=[1])
    with running(driver, registry(one=fail), plugins=(Recorder("A", calls),)):
        wait_for(lambda: row(driver, broken).errors, "the failed attempt")
    assert row(driver, broken).errors[0].error.startswith("job row couldn't be decoded: args")
    assert calls == []


class Deleting(Plugin):
    """Wants finished rows deleted."""

    def __init__(self) -> None:
        self.asked: list[JobState] = []

    def job_finalize(self, job: Job, state: JobState) -> FinalizeAction | str | None:
        self.asked.append(state)
        return "delete"


def test_job_finalize_deletes_on_success_only(driver: Driver) -> None:
    """Checklist 124. The completed row is gone, the failed one stays; the hook was asked once."""
    plugin = Deleting()
    done: list[int] = []
    with running(driver, registry(good=lambda job: done.append(job.row.id), bad=fail), plugins=(plugin,)):
        good = insert(driver, "good")
        wait_for(lambda: states(driver, good.id) == ["gone"], "the deletion")
        bad = insert(driver, "bad", max_attempts=1)
        wait_for(lambda: states(driver, bad.id) == ["discarded"], "the failure")
    assert done == [good.id]
    assert plugin.asked == [JobState.COMPLETED]


def test_a_deletion_is_guarded(driver: Driver) -> None:
    """Checklist 124. A row that somebody finished meanwhile is not deleted."""

    def task(job: Job) -> None:
        take_away(driver, job.row.id)

    options = {"leader_election_disabled": True}  # a leader cleans such old rows away
    with running(driver, registry(one=task), plugins=(Deleting(),), **options) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one")
        assert next_event(events).kind is EventKind.JOB_CANCELLED
    assert states(driver, job.id) == ["cancelled"]


def take_away(driver: Driver, job_id: int) -> None:
    """Finish a running job as an operator might, by plain SQL."""
    cast = "::text::timestamptz" if driver.sql.dialect == "postgres" else ""
    text = f"UPDATE river_job SET state = 'cancelled', finalized_at = @now{cast} WHERE id = {job_id}"
    run(driver, text, now=driver.sql.time(NOW))


def test_job_finalize_that_raises_keeps_the_row(driver: Driver) -> None:
    """The work is done: the row is completed as without the plugin."""

    class Broken(Plugin):
        def job_finalize(self, job: Job, state: JobState) -> FinalizeAction | str | None:
            raise RuntimeError("no answer")

    kind, job = worked(driver, lambda job: None, Broken())
    assert (kind, job.state) == (EventKind.JOB_COMPLETED, JobState.COMPLETED)


def test_the_time_out_starts_with_the_task(driver: Driver) -> None:
    """Checklist 82. A begin hook that takes longer than the time-out costs the task nothing."""

    class Slow(Plugin):
        def work_begin(self, job: Job) -> None:
            job.wait_stopped(1.6)

    kind, job = worked(driver, lambda job: job.wait_stopped(0.01), Slow(), job_timeout=1.5)
    assert (kind, job.errors) == (EventKind.JOB_COMPLETED, [])


def test_end_hooks_are_under_the_time_out(driver: Driver) -> None:
    """Checklist 82. One that does not end is interrupted as the task would be."""

    def wait(error: BaseException | None) -> BaseException | None:
        for _ in range(3000):
            started.wait(0.01)
        return error

    started = threading.Event()
    kind, job = worked(driver, lambda job: None, Ending(wait), job_timeout=0.2)
    assert (kind, job.errors[0].error) == (EventKind.JOB_FAILED, "job timed out after 0.2s")


def test_metrics_of_claims(driver: Driver) -> None:
    """Each claim tells its queue, how long it took and what it brought."""
    metrics: list[Metric] = []

    class Measuring(Plugin):
        def metric_emit(self, metric: Metric) -> None:
            metrics.append(metric)
            raise RuntimeError("a measuring plugin must not stop claims")

    class Second(Plugin):
        def metric_emit(self, metric: Metric) -> None:
            metrics.append(metric)

    worked(driver, lambda job: None, Measuring(), Second())
    brought = [item.value for item in metrics if item.name == "job_get_available_count"]
    assert sum(brought) == 1
    assert all(item.queue == "default" and item.value >= 0 for item in metrics)
    assert {item.name for item in metrics} == {"job_get_available_count", "job_get_available_duration"}


@pytest.mark.parametrize("answer", ["cancel", True])
def test_error_handler_may_cancel(driver: Driver, answer: object) -> None:
    """Checklist 77. The job is cancelled, with the task's own error and trace recorded."""
    seen: list[str] = []

    def handler(job: Job, error: BaseException) -> object:
        seen.append(f"{job.row.kind}: {error}")
        return answer

    kind, job = worked(driver, fail, error_handler=handler)
    assert (kind, job.state, seen) == (EventKind.JOB_CANCELLED, JobState.CANCELLED, ["one: it broke"])
    [error] = job.errors
    assert error.error == "it broke"
    assert "ValueError: it broke" in error.trace


def broken_handler(job: Job, error: BaseException) -> object:
    """Raise."""
    raise RuntimeError("the handler broke")


@pytest.mark.parametrize(
    "handler",
    [lambda job, error: None, lambda job, error: 1, broken_handler],
    ids=["none", "other", "raises"],
)
def test_error_handler_without_an_opinion_or_with_an_error(
    driver: Driver, handler: Callable[[Job, BaseException], object]
) -> None:
    """Checklist 77. Another answer, or raising, leaves the failure as it is."""
    kind, job = worked(driver, fail, error_handler=handler)
    assert (kind, job.state) == (EventKind.JOB_FAILED, JobState.AVAILABLE)
    assert job.errors[0].error == "it broke"


def test_error_handler_is_not_asked_about_control_flow(driver: Driver) -> None:
    """Checklist 77. Snooze and cancel are no errors."""
    asked: list[BaseException] = []

    def snooze(job: Job) -> None:
        raise JobSnoozeError(600)

    def cancel(job: Job) -> None:
        raise JobCancelError("no need")

    for task in (snooze, cancel):
        worked(driver, task, error_handler=lambda job, error: asked.append(error))
    assert asked == []


def test_error_handler_sees_unknown_kinds(driver: Driver) -> None:
    """A kind that nobody registered goes the ordinary error path."""
    with running(driver, registry(other=fail), error_handler=lambda job, error: "cancel") as worker:
        events = worker.events.subscribe()
        insert(driver, "unknown_kind")
        assert next_event(events).kind is EventKind.JOB_CANCELLED


def test_follow_up_inserts_by_the_job_s_client(driver: Driver) -> None:
    """Checklist 84. `job.client` inserts; the follow-up runs, and the worker's plugins see it inserted."""
    begun: list[str] = []
    done: list[str] = []

    class Noting(Plugin):
        def insert_begin(self, params: Any) -> None:
            begun.append(params.kind)

    def first(job: Job) -> None:
        assert job.client is not None
        job.client.insert(EncodedArgs("second", "{}"), InsertOpts(priority=2))

    tasks = registry(first=first, second=lambda job: done.append(job.row.kind))
    with running(driver, tasks, plugins=(Noting(),)):
        insert(driver, "first")
        wait_for(lambda: done, "the follow-up")
    assert begun == ["second"]


def test_what_is_no_plugin_is_refused() -> None:
    """The configuration names it."""
    with pytest.raises(ConfigurationError, match="plugins takes objects"):
        WorkerConfig(queues={"default": 1}, plugins=(object(),))
