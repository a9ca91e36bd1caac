"""What becomes of a task's row in each way that the task can end."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_compat.celery import Celery, Task, chain, chord
from river_compat.celery.command import WorkerOptions, build_worker
from river_compat.celery.exceptions import (
    Ignore,
    ImproperlyConfigured,
    Reject,
    Retry,
    TaskRevokedError,
    WorkerLostError,
)
from river_core.drivers.psycopg import PsycopgDriver
from river_core.errors import JobCancelError, JobSnoozeError
from river_core.job import JobState
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import final_row, finished, insert_envelope, rows_of
from tests.runtime.stored import run
from tests.runtime.workers import wait_for

TIMEOUT = 60


def test_a_success_is_a_completed_row_with_its_output(app: Celery, working: Working) -> None:
    """River's own key holds the value, ours says how the task ended."""
    add = app.task(lambda x, y: x + y, name="add", shared=False)
    with working():
        result = add.delay(1, y=2)
        assert result.get(timeout=TIMEOUT) == 3
    row = rows_of(app, result.id)[0]
    assert (row.state, row.attempt, row.max_attempts) == (JobState.COMPLETED, 1, 25)
    assert row.metadata == {"output": 3, "python_task_outcome": "succeeded"}


CUT = """
CREATE SEQUENCE inserts;
CREATE FUNCTION cut_second() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('inserts') = 2 THEN
        PERFORM pg_terminate_backend(pg_backend_pid());
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER cut_second BEFORE INSERT ON river_job FOR EACH ROW EXECUTE FUNCTION cut_second();
"""


@pytest.mark.postgres
def test_a_retry_whose_transaction_is_cut_is_written_again(postgres_driver: PsycopgDriver) -> None:
    """Row 5.8. The server ends the connection in it: nothing is lost, and nothing there twice."""
    app, ran = Celery("cut", set_as_current=False, river_driver=postgres_driver), []

    @app.task(shared=False, bind=True, name="retried")
    def retried(self: Any) -> int:
        ran.append(self.request.retries)
        if self.request.retries == 0:
            raise self.retry(countdown=0)
        return 7

    with postgres_driver.connect() as connection:
        connection.run_script(CUT)
    worker = build_worker(app, WorkerOptions(concurrency=2, pool="threads"))
    worker.start()
    try:
        result = retried.delay()
        assert result.get(timeout=TIMEOUT) == 7
    finally:
        worker.stop_and_cancel()
    rows = rows_of(app, result.id)
    assert [row.metadata["python_task_outcome"] for row in rows] == ["retried", "succeeded"]
    assert ran == [0, 1]
    assert run(postgres_driver, "SELECT last_value FROM inserts") == [(3,)]
    app.close()


EXACT = {"z": 1, "a": -0.0, "b": 1e22, "c": "x\x00y", "d": float("inf"), "é": "\ud800"}


def test_values_come_back_exactly(app: Celery, working: Working) -> None:
    """Those that jsonb would change or refuse, as argument and as result."""
    echo = app.task(lambda x: x, name="echo", shared=False)
    with working():
        assert repr(echo.delay(EXACT).get(timeout=TIMEOUT)) == repr(EXACT)


MEGABYTE = "all work and no play makes " * 40_000


def test_a_compressed_call_is_a_small_row(app: Celery, working: Working) -> None:
    """Row 2.11. The value is equal; a call of its own method, and none, come through beside it."""
    size = app.task(lambda text: len(text), name="size", shared=False, compression="gzip")
    with working():
        sent = [size.delay(MEGABYTE), size.apply_async((MEGABYTE,), compression="bzip2"), size.delay("")]
        assert [result.get(timeout=TIMEOUT) for result in sent] == [len(MEGABYTE), len(MEGABYTE), 0]
        assert sent[0].args == [MEGABYTE]
    assert all(len(rows_of(app, result.id)[0].encoded_args) < 100_000 for result in sent)


def test_compressed_results_go_on_and_come_back(app: Celery, working: Working) -> None:
    """Row 7.23. As parts of chords, from one step of a chain to the next, and stored by hand."""
    app.conf.result_compression = "gzip"
    app.task(lambda text: text, name="same", shared=False)
    app.task(lambda texts: [len(text) for text in texts], name="sizes", shared=False)
    same, sizes = app.signature("same"), app.signature("sizes")
    with working():
        steps = chain(same.clone((MEGABYTE,)), same)()
        whole = chord([same.clone((MEGABYTE,)), same.clone(("x",))], sizes)()
        assert steps.get(timeout=TIMEOUT) == MEGABYTE
        assert whole.get(timeout=TIMEOUT) == [len(MEGABYTE), 1]
    assert len(rows_of(app, steps.id)[0].encoded_metadata) < 100_000
    app.backend.store_result("by-hand", MEGABYTE, "SUCCESS")
    assert app.AsyncResult("by-hand").result == MEGABYTE
    app.conf.result_compression = "no-such-method"
    with pytest.raises(ImproperlyConfigured, match="no-such-method"), working():
        pass


@pytest.mark.parametrize("compression", ["application/x-nothing", 5, "application/x-gzip"])
def test_a_body_that_cannot_be_decompressed_fails_alone(
    app: Celery, working: Working, compression: object
) -> None:
    """As any other body that cannot be read, with the reason."""
    app.task(lambda: None, name="nothing", shared=False)
    task = {"id": "broken", "framework": "celery", "name": "nothing", "body": "AAAA"}
    task |= {"headers": json.dumps({"compression": compression})}
    row_id = insert_envelope(app, {"version": 1, "task": task})
    with working():
        row = final_row(app, row_id)
    assert (row.state, row.errors[-1].error.partition(":")[0]) == (JobState.DISCARDED, "DecodeError")


def test_an_error_discards_the_row_at_once(app: Celery, working: Working) -> None:
    """River adds no rounds of its own; the exception comes back with its type."""

    @app.task(shared=False)
    def fail():
        raise LookupError("boom", 3)

    with working():
        result = fail.delay()
        with pytest.raises(LookupError, match="boom"):
            result.get(timeout=TIMEOUT)
    row = rows_of(app, result.id)[0]
    assert (row.state, row.attempt, row.metadata["python_task_outcome"]) == (JobState.DISCARDED, 1, "failed")
    assert row.metadata["python_task_exception"] == {
        "exc_type": "LookupError",
        "exc_module": "builtins",
        "exc_message": ["boom", 3],
    }
    assert row.errors[0].error == "LookupError: ('boom', 3)"
    assert 'raise LookupError("boom", 3)' in row.errors[0].trace
    assert "river_compat" not in row.errors[0].trace
    assert result.traceback == row.errors[0].trace


def test_a_retry_is_a_new_row_beside_the_completed_old_one(app: Celery, working: Working) -> None:
    """Checklist 159. Written in one transaction, with the same task id and a fresh budget. Row 5.1."""

    @app.task(bind=True, shared=False, autoretry_for=(OSError,), retry_backoff=1, retry_jitter=False)
    def flaky(self, x):
        if self.request.retries == 0:
            raise OSError("try later")
        return x

    with working():
        result = flaky.apply_async((7,), queue="celery", headers={"tenant": "acme"})
        assert result.get(timeout=TIMEOUT) == 7
    first, second = rows_of(app, result.id)
    assert (first.state, second.state) == (JobState.COMPLETED, JobState.COMPLETED)
    assert first.metadata["python_task_outcome"] == "retried"
    assert int(first.metadata["python_task_retry_id"]) == second.id
    assert first.metadata["python_task_exception"]["exc_type"] == "OSError"
    assert "output" not in first.metadata
    assert (second.attempt, second.max_attempts) == (1, 25)
    assert second.scheduled_at - first.created_at >= timedelta(seconds=1)
    assert first.finalized_at is not None
    assert abs(second.created_at - first.finalized_at) < timedelta(seconds=30)


def test_retries_that_are_used_up_discard_the_last_row(app: Celery, working: Working) -> None:
    """Checklist 159. With the task's own exception."""

    @app.task(bind=True, shared=False, max_retries=1)
    def hopeless(self):
        raise self.retry(exc=ValueError(f"run {self.request.retries}"), countdown=0)

    with working():
        result = hopeless.delay()
        with pytest.raises(ValueError, match="run 1"):
            result.get(timeout=TIMEOUT)
    assert [row.state for row in rows_of(app, result.id)] == [JobState.COMPLETED, JobState.DISCARDED]


def test_a_retry_may_carry_any_text(app: Celery, working: Working) -> None:
    """Also what the database refuses, in the exception and its traceback."""

    @app.task(bind=True, shared=False)
    def strange(self):
        if self.request.retries == 0:
            raise self.retry(exc=ValueError("nul \x00 and \ud800"), countdown=0)
        return "second"

    with working():
        result = strange.delay()
        assert result.get(timeout=TIMEOUT) == "second"
    data = rows_of(app, result.id)[0].metadata["python_task_exception"]
    assert json.loads(data["exc_args"]) == ["nul \x00 and \ud800"]


def test_retry_raised_by_hand_runs_again(app: Celery, working: Working) -> None:
    """In Celery nothing is sent, and callers hang. Row 5.16."""

    @app.task(bind=True, shared=False)
    def by_hand(self):
        if self.request.retries == 0:
            raise Retry(exc=ValueError("x"), when=0)
        return "second"

    with working():
        assert by_hand.delay().get(timeout=TIMEOUT) == "second"


def test_retry_without_throw_keeps_both_outcomes(app: Celery, working: Working) -> None:
    """The run ends as it does and the next one is scheduled with it. Row 5.4."""

    @app.task(bind=True, shared=False)
    def careful(self):
        if self.request.retries == 0:
            self.retry(countdown=600, throw=False)
        return self.request.retries

    with working():
        result = careful.delay()
        assert result.get(timeout=TIMEOUT) == 0
    first, second = rows_of(app, result.id)
    assert (first.metadata["python_task_outcome"], second.state) == ("succeeded", JobState.SCHEDULED)
    assert app.AsyncResult(result.id).state == "SUCCESS"


def test_a_result_that_cannot_be_stored_fails_the_same_attempt(app: Celery, working: Working) -> None:
    """With kombu's EncodeError, through the task's own handlers."""
    handled = []

    class Handled(Task):
        def on_failure(self, exc, task_id, args, kwargs, einfo):
            handled.append(type(exc).__name__)

    bad = app.task(lambda: object(), name="bad", base=Handled, shared=False)
    with working():
        row = finished(app, bad.delay().id)
    assert (row.state, row.metadata["python_task_exception"]["exc_type"]) == (
        JobState.DISCARDED,
        "EncodeError",
    )
    assert handled == ["EncodeError"]


def test_ignored_results_are_not_stored(app: Celery, working: Working) -> None:
    """`get()` is None at once, and the state stays PENDING, as in Celery."""
    work = app.task(lambda: 5, name="work", ignore_result=True, shared=False)
    with working():
        result = work.delay()
        assert result.get(timeout=0) is None
        row = finished(app, result.id)
        assert "output" not in row.metadata
        assert app.AsyncResult(result.id).state == "PENDING"
        assert work.apply_async(ignore_result=False).get(timeout=TIMEOUT) == 5


@pytest.mark.parametrize(
    ("error", "state", "outcome", "seen"),
    [
        (Ignore(), JobState.COMPLETED, "ignored", "PENDING"),
        (Reject("no"), JobState.DISCARDED, "failed", "FAILURE"),
        (JobCancelError("no more"), JobState.CANCELLED, None, "REVOKED"),
    ],
)
def test_other_endings(
    app: Celery, working: Working, error: BaseException, state: JobState, outcome: str | None, seen: str
) -> None:
    """Checklist 160. Also under retries of every exception."""

    @app.task(shared=False, autoretry_for=(Exception,))
    def end():
        raise error

    with working():
        result = end.delay()
        row = finished(app, result.id)
    assert (row.state, row.metadata.get("python_task_outcome"), result.state) == (state, outcome, seen)
    assert len(rows_of(app, result.id)) == 1


@pytest.mark.parametrize("error", [Reject("again", requeue=True), JobSnoozeError(0)])
def test_a_row_that_is_given_back_spends_no_attempt(
    app: Celery, working: Working, error: BaseException
) -> None:
    """And runs again, marked as redelivered where Celery marks it. Rows 6.3, 6.6."""
    runs: list[Any] = []

    @app.task(bind=True, shared=False)
    def again(self):
        runs.append((self.request.river_attempt, self.request.delivery_info["redelivered"]))
        if len(runs) == 1:
            raise error
        return "done"

    with working():
        assert again.delay().get(timeout=TIMEOUT) == "done"
    assert runs == [(1, False), (1, isinstance(error, Reject))]


def test_an_expired_task_never_runs(app: Celery, working: Working) -> None:
    """Its row is cancelled and its result is REVOKED."""
    ran = []
    work = app.task(lambda: ran.append(1), name="work", shared=False)
    result = work.apply_async(expires=datetime.now(UTC) - timedelta(seconds=1))
    with working(), pytest.raises(TaskRevokedError, match="expired"):
        result.get(timeout=TIMEOUT)
    row = rows_of(app, result.id)[0]
    assert (row.state, row.metadata["python_task_outcome"], ran) == (JobState.CANCELLED, "expired", [])
    assert (result.ready(), result.failed(), result.successful()) == (True, False, False)


@pytest.mark.parametrize("leaving", [SystemExit(3), SystemExit(0), KeyboardInterrupt()])
def test_a_task_that_exits_fails_and_the_worker_goes_on(
    app: Celery, working: Working, leaving: BaseException
) -> None:
    """As in Celery, whose child process ends: FAILURE with WorkerLostError, and no second run. Row 6.4."""

    def leave_process() -> None:
        raise leaving

    leave = app.task(leave_process, name="leave", shared=False)
    fine = app.task(lambda: "fine", name="fine", shared=False)
    with working():
        result = leave.delay()
        with pytest.raises(WorkerLostError, match=type(leaving).__name__):
            result.get(timeout=TIMEOUT)
        assert fine.delay().get(timeout=TIMEOUT) == "fine"
    row = rows_of(app, result.id)[0]
    assert (row.state, row.attempt, row.metadata["python_task_outcome"]) == (JobState.DISCARDED, 1, "failed")


def test_at_most_once_ends_with_the_first_crash(app: Celery, working: Working) -> None:
    """`acks_late=False` on purpose gives the row one attempt."""
    leave = app.task(lambda: sys.exit(3), name="leave", acks_late=False, shared=False)
    with working():
        result = leave.delay()
        row = finished(app, result.id)
        assert (row.max_attempts, row.state, result.state) == (1, JobState.DISCARDED, "FAILURE")
        assert type(result.result).__name__ == "WorkerLostError"


def test_a_task_that_nobody_knows_waits_with_its_attempt(app: Celery, working: Working) -> None:
    """The message names it and what looks like it; a worker with the code takes it later."""
    add = app.task(lambda x: x, name="proj.add", shared=False, lazy=False)
    result = app.send_task("prj.add", (5,))
    with working():
        row = wait_for(lambda: next((r for r in rows_of(app, result.id) if r.metadata), None), "the note")
        assert "'prj.add'" in row.metadata["python_task_waiting"]
        assert "proj.add" in row.metadata["python_task_waiting"]
        assert (row.attempt, result.state) == (0, "PENDING")
        app.tasks["prj.add"] = add
        assert result.get(timeout=TIMEOUT) == 5
    assert rows_of(app, result.id)[0].metadata["python_task_waiting"] is None


@pytest.mark.parametrize(
    "envelope", [{"version": 2}, {"version": 1, "task": {"name": "x", "framework": "rq"}}]
)
def test_rows_of_newer_or_other_writers_wait(app: Celery, working: Working, envelope: Any) -> None:
    """Checklist 159. Another worker may know them."""
    row_id = insert_envelope(app, envelope)
    client = app.runtime.client
    with working():
        row = wait_for(lambda: (r := client.job_get(row_id)).metadata and r, "the note")
    assert row.attempt == 0
    assert row.metadata["python_task_waiting"]


@pytest.mark.parametrize(
    "task",
    [
        {"name": "work", "id": "bad-1", "framework": "celery", "body": "{nonsense"},
        {"name": "work", "id": "bad-2", "framework": "celery", "body": "[1]"},
        {"name": "work", "id": "bad-3", "framework": "celery", "body": "[1, 2, 3]"},
        {
            "name": "work",
            "id": "bad-4",
            "framework": "celery",
            "body": "[[], {}, {}]",
            "headers": '{"expires"',
        },
        {
            "name": "work",
            "id": "bad-5",
            "framework": "celery",
            "body": "gAR9lC4=",
            "content_type": "application/x-python-serialize",
            "content_encoding": "binary",
        },
    ],
)
def test_what_cannot_be_read_is_discarded_alone(app: Celery, working: Working, task: dict[str, str]) -> None:
    """With a readable error; the worker goes on."""
    work = app.task(lambda: "fine", name="work", shared=False)
    row_id = insert_envelope(app, {"version": 1, "task": task})
    with working():
        row = final_row(app, row_id)
        assert work.delay().get(timeout=TIMEOUT) == "fine"
    assert (row.state, row.metadata["python_task_outcome"]) == (JobState.DISCARDED, "failed")
    assert row.errors[0].error
    assert app.AsyncResult(task["id"]).state == "FAILURE"


def test_another_language_can_call_a_task(app: Celery, working: Working) -> None:
    """With plain JSON arguments, in SQL or from Go."""
    app.task(lambda x, y: x - y, name="minus", shared=False)
    task = {"id": "from-go", "name": "minus", "framework": "celery", "args": [5], "kwargs": {"y": 3}}
    insert_envelope(app, {"version": 1, "task": task})
    with working():
        assert app.AsyncResult("from-go").get(timeout=TIMEOUT) == 2


def test_handlers_see_the_whole_life_of_a_task(app: Celery, working: Working) -> None:
    """In Celery's order, with a retry in between."""
    calls = []

    class Recording(Task):
        def before_start(self, task_id, args, kwargs):
            calls.append("before")

        def on_retry(self, exc, task_id, args, kwargs, einfo):
            calls.append(("retry", type(exc).__name__))

        def on_success(self, retval, task_id, args, kwargs):
            calls.append(("success", retval))
            raise RuntimeError("an error of a handler is logged only")

        def after_return(self, status, retval, task_id, args, kwargs, einfo):
            calls.append(("after", status))

    @app.task(base=Recording, bind=True, shared=False)
    def work(self):
        if self.request.retries == 0:
            raise self.retry(exc=KeyError("k"), countdown=0)
        return 9

    with working():
        assert work.delay().get(timeout=TIMEOUT) == 9
    assert calls == ["before", ("retry", "KeyError"), "before", ("success", 9), ("after", "SUCCESS")]


class _Base(BaseException):
    """No Exception, and none of River's signals."""


@pytest.mark.parametrize(
    "error", [asyncio.CancelledError(), GeneratorExit(), _Base("x"), BaseExceptionGroup("g", [_Base("y")])]
)
def test_any_other_exception_that_leaves_a_task_is_its_failure(
    app: Celery, working: Working, error: BaseException
) -> None:
    """FAILURE at once, as in Celery: River adds no rounds of its own."""

    def leave_with() -> None:
        raise error

    task = app.task(leave_with, name="leave_with", shared=False)
    with working():
        result = task.delay()
        row = finished(app, result.id)
    assert (row.state, row.attempt, result.state) == (JobState.DISCARDED, 1, "FAILURE")


@pytest.mark.foreign_rows
def test_a_row_that_breaks_the_adapter_is_discarded(app: Celery, working: Working) -> None:
    """A stranger's headers of the wrong type end that row, with a reason, after one run."""
    fine = app.task(lambda: "fine", name="fine", shared=False)
    task = {"framework": "celery", "name": "fine", "body": "[[],{},{}]"}
    broken = [
        insert_envelope(app, {"version": 1, "task": {**task, "headers": value}}) for value in (5, 1.5, True)
    ]
    with working():
        assert fine.delay().get(timeout=TIMEOUT) == "fine"
        rows = [final_row(app, row_id) for row_id in broken]
    assert [(row.state, row.attempt) for row in rows] == [(JobState.DISCARDED, 1)] * 3
