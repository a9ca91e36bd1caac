"""What River's Go client left in the rows of its jobs, as recorded in `rows.json`, and what we leave.

The worker runs with Go's rules (`parity="go"`). What the recording has of version 0.43 alone, and what is
decided otherwise here, is amended by name in `AMENDED`; what only Go can do is in `ONLY_GO`, with the reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import (
    JobCancelError,
    JobInterruptedError,
    JobRunningError,
    JobSnoozeError,
    JobTimeoutError,
    NotFoundError,
    UniqueConflictError,
    ValidationError,
)
from river_core.insert import EncodedArgs, InsertOpts
from river_core.job import JobRow, JobState
from river_core.job_tx import job_complete_tx
from river_core.task import Job, Registry, Task
from river_core.unique import UniqueOpts
from river_core.worker.events import EventKind
from tests.runtime.stored import put
from tests.runtime.workers import DEADLINE, insert, next_event, registry, row, running, wait_for
from tests.vectors import load

RECORDED = {(item["group"], item["name"]): item for item in load("rows.json")["scenarios"]}
BOOM = 'boom <&> \u00e9 "q"'
ERRORS = [{"at": "2026-01-01T00:00:00Z", "attempt": 1, "error": "e", "trace": ""}]
HOUR = timedelta(hours=1)
SLACK_SECONDS = 1.0
ATTEMPT_SECONDS = 30.0
"""How long an attempt may take, at whose end the delay begins: the machine may have other things to do."""


class Panic(BaseException):
    """What no ordinary task raises: Go would call it a panic."""


def raises(error: BaseException | type[BaseException]) -> Callable[[Job], None]:
    """A task that raises."""

    def task(job: Job) -> None:
        raise error

    return task


def output(*values: Any, then: BaseException | None = None) -> Callable[[Job], None]:
    """A task that records outputs, then raises if told to."""

    def task(job: Job) -> None:
        for value in values:
            job.record_output(value)
        if then is not None:
            raise then

    return task


def retries_after(**delay: float) -> Task:
    """A task that fails and has a retry time of its own."""

    class Own(Task):
        def work(self, job: Job) -> None:
            raise ValueError("x")

        def next_retry(self, job: JobRow, error: BaseException) -> datetime:
            return datetime.now(UTC) + timedelta(**delay)

    return Own()


def wrapped(job: Job) -> None:
    """Cancel under another exception."""
    try:
        raise JobCancelError("inner")
    except JobCancelError as inner:
        raise ValueError("wrapped") from inner


def first_fails(job: Job) -> None:
    """Fail in the first attempt."""
    if job.row.attempt == 1:
        raise ValueError("first failure")


def snoozes_once(job: Job) -> None:
    """Snooze a tenth of a second, once."""
    if "snoozes" not in job.row.metadata:
        raise JobSnoozeError(0.1)


def sets_metadata(job: Job) -> None:
    """Set a key, and see that River's own cannot be set."""
    job.update_metadata({"mine": {"x": 1}})
    with pytest.raises(ValidationError, match="reserved"):
        job.update_metadata({"river:mine": 1})


def eager_output(job: Job) -> None:
    """Store the output while the job runs."""
    assert isinstance(job.client, Client)
    job.client.job_update(job.row.id, output="eager")


def late(job: Job) -> None:
    """Run into the time-out."""
    for _ in range(10_000):
        job.wait_stopped(0.001)


def late_but_well(job: Job) -> None:
    """Run into the time-out and end in order."""
    try:
        late(job)
    except JobTimeoutError:
        return


def completes_itself(job: Job) -> None:
    """Complete in a transaction of its own."""
    assert isinstance(job.client, Client)
    job.record_output("in tx")
    with job.client.driver.connect() as connection, connection.transaction():
        job_complete_tx(job, connection.raw)


def steps(*bodies: tuple[str, Callable[[], Any]]) -> Callable[[Job], None]:
    """A task of resumable steps."""

    def task(job: Job) -> None:
        for name, body in bodies:
            job.steps.run(name, body)

    return task


def fail(text: str) -> Callable[[], Any]:
    """A step that fails."""

    def body() -> None:
        raise ValueError(text)

    return body


def cursor(job: Job) -> None:
    """Fail in the second step, which doubles a cursor of 17."""

    def two(value: Any) -> None:
        job.steps.set_cursor({"id": 17 if value is None else value["id"] * 2})
        raise ValueError("two failed")

    job.steps.run("one", lambda: None)
    job.steps.run_cursor("two", two)


def cursor_then_done(job: Job) -> None:
    """Fail once at cursor 5, and go on from there; note what ran."""
    ran: list[str] = []

    def two(value: Any) -> None:
        ran.append(f"two from {value or 0}")
        job.update_metadata({f"ran_in_attempt_{job.row.attempt}": ran})
        if job.row.attempt == 1:
            job.steps.set_cursor(5)
            raise ValueError("two failed")

    job.steps.run("one", lambda: ran.append("one"))
    job.steps.run_cursor("two", two)
    job.steps.run("three", lambda: ran.append("three"))
    job.update_metadata({f"ran_in_attempt_{job.row.attempt}": ran})


def step_of_the_first_attempt(job: Job) -> None:
    """Have a step in the first attempt that the second one does not know."""
    if job.row.attempt == 1:
        job.steps.run("only_in_attempt_1", lambda: None)
        raise ValueError("fail")
    job.steps.run("other", lambda: None)


def snoozes_in_step_two(job: Job) -> None:
    """Snooze inside a step."""
    job.steps.run("one", lambda: None)
    job.steps.run("two", lambda: raises(JobSnoozeError(60))(job))


TASKS: dict[str, Any] = {
    "complete": lambda job: None,
    "complete, all options set": lambda job: None,
    "error on attempt 1": raises(ValueError(BOOM)),
    "error on attempt 2": raises(ValueError(BOOM)),
    "error, then success": first_fails,
    "exhausted, max_attempts 1": raises(ValueError(BOOM)),
    "exhausted, max_attempts 2": raises(ValueError(BOOM)),
    "cancel from inside": raises(JobCancelError("no need")),
    "cancel from inside with a nil error": raises(JobCancelError()),
    "cancel from inside, wrapped": wrapped,
    "panic with text": raises(Panic("oh no")),
    "panic with an error": raises(Panic("an error value")),
    "panic with a number": raises(Panic(42)),
    "panic, max_attempts 1": raises(Panic("oh no")),
    "unknown kind": None,
    "unknown kind, max_attempts 1": None,
    "args are an array": lambda job: None,
    "snooze 2 s": raises(JobSnoozeError(2)),
    "snooze 5 s": raises(JobSnoozeError(5)),
    "snooze 6 s": raises(JobSnoozeError(6)),
    "snooze 120 s": raises(JobSnoozeError(120)),
    "snooze 120 s, a second time": raises(JobSnoozeError(120)),
    "snooze 100 ms, then complete": snoozes_once,
    "output, object": output({"b": 1, "a": [1, 2], "h": "<\u00e9>"}),
    "output, text": output("text"),
    "output, null": output(None),
    "output, recorded twice": output(1, 2),
    "output, then error": output("kept", then=ValueError("after output")),
    "output, then panic": output("kept", then=Panic("after output")),
    "output, then snooze": output("kept", then=JobSnoozeError(60)),
    "output, then cancel": output("kept", then=JobCancelError("x")),
    "output, over metadata of the same name": output("text"),
    "metadata set": sets_metadata,
    "output set eagerly by JobUpdate": eager_output,
    "timeout, worker returns the context's error": late,
    "timeout, worker returns nothing": late_but_well,
    "worker's own next retry in 1 h": retries_after(hours=1),
    "worker's own next retry in the past": retries_after(hours=-1),
    "worker's own next retry in 3 s": retries_after(seconds=3),
    "worker's own next retry in 7 s": retries_after(seconds=7),
    "completed in the worker's transaction": completes_itself,
    "resumable, fails at the first step": steps(("one", fail("one failed"))),
    "resumable, fails at the second step": steps(("one", lambda: None), ("two", fail("two failed"))),
    "resumable, cursor kept on failure": cursor,
    "resumable, cursor, second failure": cursor,
    "resumable, all steps succeed at once": steps(("one", lambda: None), ("two", lambda: None)),
    "resumable, cursor step fails, then completes": cursor_then_done,
    "resumable, recorded step no longer exists": step_of_the_first_attempt,
    "resumable, duplicate step name": steps(("one", lambda: None), ("one", lambda: None)),
    "resumable, snooze in the second step": snoozes_in_step_two,
    "3 errors already, attempt 10": raises(ValueError(BOOM)),
    "100 entries in attempted_by": lambda job: None,
    "99 entries in attempted_by": lambda job: None,
    "attempt at max_attempts already, then works": lambda job: None,
    "attempt above max_attempts fails": raises(ValueError(BOOM)),
}
BEFORE: dict[str, dict[str, Any]] = {
    "complete, all options set": {"max_attempts": 3, "metadata": {"m": 1}, "args": {"a": 1}},
    "exhausted, max_attempts 1": {"max_attempts": 1},
    "exhausted, max_attempts 2": {"max_attempts": 2},
    "panic, max_attempts 1": {"max_attempts": 1},
    "unknown kind, max_attempts 1": {"max_attempts": 1},
    "args are an array": {"args": [1]},
    "snooze 120 s, a second time": {"metadata": {"k": "v", "snoozes": 1}},
    "output, over metadata of the same name": {"metadata": {"k": 1, "output": "old"}},
    "3 errors already, attempt 10": {"attempt": 9, "errors": ERRORS * 3},
    "100 entries in attempted_by": {"attempt": 5, "attempted_by": [f"c{number}" for number in range(1, 101)]},
    "99 entries in attempted_by": {"attempt": 5, "attempted_by": [f"c{number}" for number in range(1, 100)]},
    "attempt at max_attempts already, then works": {"attempt": 25},
    "attempt above max_attempts fails": {"attempt": 25},
}  # fmt: skip
AMENDED: dict[str, dict[str, Any]] = {
    # texts of our own (11.4, 11.6)
    "cancel from inside with a nil error": {"errors": ["JobCancelError"]},
    "cancel from inside, wrapped": {"errors": ["JobCancelError: inner"]},
    "timeout, worker returns the context's error": {"errors": ["job timed out after 0.2s"]},
    # 11.1: arguments that are no object fail their row alone
    "args are an array": {"errors": "job row couldn't be decoded: "},
    "metadata set": {"metadata": {"mine": {"x": 1}}},
    "resumable, duplicate step name": {
        "errors": ["there are two steps 'one'; a step's name must be unique in its job"]
    },
}
ONLY_GO = {
    "complete, scheduled in the past": "waits for the scheduler's 5 s; tests/runtime/test_elector.py has it",
    "args do not fit the worker's type": "Go decodes into types",
    "args are null": "no object either: fails here as an array does",
    "snooze 0 s": "runs again at once; tests/runtime/test_outcomes.py has it",
    "snooze negative": "refused here by name",
    "400 errors already": "an overflow of Go's, not to be reproduced (25)",
}


def put_before(driver: Driver, name: str) -> int:
    """Store the row as it was before the step, due now."""
    fields = dict(BEFORE.get(name, {}))
    fields.setdefault("args", {})
    now = datetime.now(UTC) - timedelta(seconds=1)
    known = TASKS[name] is not None
    return put(
        driver, kind="recorded" if known else "never_registered", created_at=now, scheduled_at=now, **fields
    )


def events_wanted(name: str) -> list[str]:
    """The events that the step gave, by kind."""
    return [text.partition(":")[0] for text in RECORDED["execution", name]["events"]]


def marked(name: str) -> Any:
    """A row that no client should write is looked at here on purpose."""
    return pytest.param(name, marks=[pytest.mark.foreign_rows] if name == "args are an array" else [])


@pytest.mark.parametrize("name", [marked(name) for name in TASKS])
def test_executions(driver: Driver, name: str) -> None:
    """State, attempt, errors, metadata, times and events are those that Go left."""
    task = TASKS[name]
    tasks = Registry()
    if isinstance(task, Task):
        task.kind = "recorded"
        tasks.add(task)
    else:
        tasks.add("recorded", task or (lambda job: None))
    options: dict[str, Any] = {"parity": "go", "queues": {"default": 1}}
    if name.startswith("timeout"):
        options["job_timeout"] = 0.2
    with running(driver, tasks, claims=max(len(events_wanted(name)), 1), **options) as worker:
        events = worker.events.subscribe()
        job_id = put_before(driver, name)
        seen = [next_event(events).kind.value for _ in events_wanted(name)]
        if not seen:
            wait_for(lambda: row(driver, job_id).finalized_at is not None, "the task's own completion")
    assert seen == events_wanted(name)
    compare(row(driver, job_id), RECORDED["execution", name]["row"], AMENDED.get(name, {}))


def test_every_execution_is_accounted_for() -> None:
    """Each recorded one is run here or has a reason why not."""
    recorded = {name for group, name in RECORDED if group == "execution"}
    assert recorded == {*TASKS, *ONLY_GO}


def compare(job: JobRow, wanted: Mapping[str, Any], amended: Mapping[str, Any]) -> None:
    """Compare a row with a recorded one."""
    assert (job.state.value, job.attempt, job.max_attempts) == (
        wanted["state"], wanted["attempt"], wanted["max_attempts"],
    )  # fmt: skip
    assert (job.finalized_at is not None) == wanted["finalized_at_set"]
    metadata = amended.get("metadata", wanted["metadata"])
    assert job.metadata == metadata
    by = wanted["attempted_by"]
    assert len(job.attempted_by or []) == (by["length"] if isinstance(by, dict) else len(by or []))
    texts = [error["error"] for error in wanted["errors"] or []]
    ours = [error.error for error in job.errors]
    expected = amended.get("errors", texts)
    if isinstance(expected, str):
        assert [text[: len(expected)] for text in ours] == [expected]
    else:
        assert ours == expected
    traced = [bool(error["trace"]) for error in wanted["errors"] or []]
    assert [bool(error.trace) for error in job.errors] == traced
    recorded = wanted["scheduled_minus_attempted"]
    if recorded and recorded > SLACK_SECONDS and job.attempted_at:
        delay = (job.scheduled_at - job.attempted_at).total_seconds()
        assert 0.75 * recorded - SLACK_SECONDS <= delay <= 1.25 * recorded + SLACK_SECONDS + ATTEMPT_SECONDS


STATES = {
    "available": {},
    "available_future": {"scheduled_at": HOUR},
    "scheduled": {"state": "scheduled", "scheduled_at": HOUR},
    "pending": {"state": "pending"},
    "running": {"state": "running", "attempt": 1, "attempted": True},
    "retryable": {
        "state": "retryable", "attempt": 1, "attempted": True, "scheduled_at": HOUR, "errors": ERRORS,
    },
    "completed": {"state": "completed", "attempt": 25, "attempted": True, "finalized": True},
    "cancelled": {"state": "cancelled", "attempt": 25, "attempted": True, "finalized": True},
    "discarded": {"state": "discarded", "attempt": 25, "attempted": True, "finalized": True},
    "discarded, attempt below max_attempts": {
        "state": "discarded", "attempt": 3, "attempted": True, "finalized": True,
    },
}  # fmt: skip


def put_in(driver: Driver, state: str) -> int:
    """Store a row in a state, as the recording had it."""
    fields: dict[str, Any] = dict(STATES[state])
    now = datetime.now(UTC) - timedelta(seconds=1)
    fields["scheduled_at"] = now + fields.get("scheduled_at", timedelta())
    if fields.pop("attempted", False):
        fields |= {"attempted_at": now, "attempted_by": ["c"]}
    if fields.pop("finalized", False):
        fields["finalized_at"] = now
    return put(driver, kind="ok", queue="unworked", created_at=now, **fields)


@pytest.mark.parametrize(
    "state", [state for state in STATES if ("cancel by client", f"cancel while {state}") in RECORDED]
)
def test_cancellations(driver: Driver, state: str) -> None:
    """What a cancellation does to a row in each state, and what it returns."""
    recorded = RECORDED["cancel by client", f"cancel while {state}"]
    job_id = put_in(driver, state)
    returned = Client(driver, parity="go").job_cancel(job_id)
    assert returned.state.value == recorded["returned_state"]
    after = row(driver, job_id)
    mark = {"cancel_attempted_at": after.metadata.get("cancel_attempted_at")} if recorded["changed"] else {}
    assert set(mark) == set(recorded["row"]["metadata"])
    compare(after, {**recorded["row"], "scheduled_minus_attempted": None}, {"metadata": mark})


@pytest.mark.parametrize("state", STATES)
def test_retries(driver: Driver, state: str) -> None:
    """What a retry does to a row in each state."""
    recorded = RECORDED["retry by client", f"retry while {state}"]["row"]
    job_id = put_in(driver, state)
    Client(driver, parity="go").job_retry(job_id)
    after = row(driver, job_id)
    compare(after, {**recorded, "scheduled_minus_attempted": None}, {})
    if state not in ("running", "available"):
        assert abs((datetime.now(UTC) - after.scheduled_at).total_seconds()) < DEADLINE


@pytest.mark.parametrize(
    "state", [state for state in STATES if ("delete by client", f"delete while {state}") in RECORDED]
)
def test_deletions(driver: Driver, state: str) -> None:
    """Everything can be deleted but what runs."""
    recorded = RECORDED["delete by client", f"delete while {state}"]
    client, job_id = Client(driver), put_in(driver, state)
    if recorded["error"] is None:
        assert client.job_delete(job_id).id == job_id
    else:
        with pytest.raises(JobRunningError, match="running"):
            client.job_delete(job_id)
    remaining = [job.id for job in client.job_list(limit=10).jobs]
    assert (job_id in remaining) == recorded["row_still_there"]


def test_missing_jobs(driver: Driver) -> None:
    """Cancelling, retrying and deleting what is not there."""
    client = Client(driver)
    for call, group in (
        (client.job_cancel, "cancel"),
        (client.job_retry, "retry"),
        (client.job_delete, "delete"),
    ):
        assert RECORDED[f"{group} by client", f"{group} of a missing job"]["error"] == "not found"
        with pytest.raises(NotFoundError):
            call(1)


def test_a_retry_whose_key_is_taken(driver: Driver) -> None:
    """The unique index refuses it and the row stays; we say so by name."""
    client = Client(driver)
    options = InsertOpts(unique_opts=UniqueOpts(by_queue=True))
    first = client.insert(EncodedArgs("ok", "{}"), options).job
    client.job_update(first.id, state=JobState.DISCARDED, finalized_at=datetime.now(UTC))
    client.insert(EncodedArgs("ok", "{}"), options)
    recorded = RECORDED[
        "retry by client", "retry of a discarded unique job while an available job has the same key"
    ]
    with pytest.raises(UniqueConflictError):
        client.job_retry(first.id)
    after = row(driver, first.id)
    assert (after.state.value, after.finalized_at is not None) == (recorded["row_after"]["state"], True)


RUNNING_CANCELLED: dict[str, Callable[[Job], None]] = {
    "running, worker returns the context's error": lambda job: raises(JobCancelError())(job),
    "running, worker returns nothing": lambda job: None,
    "running, worker returns its own error": lambda job: raises(ValueError("own"))(job),
    "running, worker snoozes for 1 h": lambda job: raises(JobSnoozeError(3600))(job),
}


@pytest.mark.parametrize("name", RUNNING_CANCELLED)
def test_cancellations_of_running_jobs(driver: Driver, name: str) -> None:
    """Success stays success; whatever else the task does, the job is cancelled remotely."""
    recorded = RECORDED["cancel by client", name]
    began = threading.Event()

    def task(job: Job) -> None:
        began.set()
        assert job.wait_stopped(DEADLINE)
        RUNNING_CANCELLED[name](job)

    with running(driver, registry(task=task), parity="go") as worker:
        events = worker.events.subscribe()
        job_id = insert(driver, "task").id
        assert began.wait(DEADLINE)
        assert Client(driver, parity="go").job_cancel(job_id).state.value == recorded["returned_state"]
        seen = next_event(events).kind.value
    assert [f"{seen}:{row(driver, job_id).state.value}"] == recorded["events"]
    after = row(driver, job_id)
    mark = after.metadata["cancel_attempted_at"]
    compare(after, recorded["row"], {"metadata": {"cancel_attempted_at": mark}})


def test_a_row_that_is_discarded_under_the_task(driver: Driver) -> None:
    """The row stays as it was set. Since 0.44 the event follows the row."""
    recorded = RECORDED["changed while running", "set to discarded by SQL while running"]
    began, release = threading.Event(), threading.Event()

    def task(job: Job) -> None:
        began.set()
        assert release.wait(DEADLINE)

    with running(driver, registry(task=task), queues={"default": 1}) as worker:
        events = worker.events.subscribe()
        job_id = insert(driver, "task").id
        assert began.wait(DEADLINE)
        Client(driver).job_update(job_id, state=JobState.DISCARDED, finalized_at=datetime.now(UTC))
        release.set()
        assert next_event(events).kind is EventKind.JOB_FAILED
    after = row(driver, job_id)
    assert (after.state.value, after.attempt) == (recorded["row"]["state"], recorded["row"]["attempt"])


@pytest.mark.parametrize(("name", "error"), [("fail", ValueError(BOOM)), ("panic_string", Panic("oh no"))])
def test_an_error_handler_that_cancels(driver: Driver, name: str, error: BaseException) -> None:
    """The error is kept as it was."""
    recorded = RECORDED["error handler sets cancelled", name]
    handler = lambda job, error: "cancel"  # noqa: E731
    with running(driver, registry(task=raises(error)), parity="go", error_handler=handler) as worker:
        events = worker.events.subscribe()
        job_id = insert(driver, "task").id
        assert next_event(events).kind is EventKind.JOB_CANCELLED
    compare(row(driver, job_id), recorded["row"], {})


STOPPED: dict[str, tuple[Callable[[Job], None], dict[str, Any]]] = {
    "worker returns the context's error": (raises(JobInterruptedError), {}),
    "worker returns its own error": (raises(ValueError("own error")), {}),
    "worker returns nothing": (lambda job: None, {}),
    "worker snoozes 1 h": (raises(JobSnoozeError(3600)), {}),
    "worker returns the context's error on attempt 3 after 2 errors": (
        raises(JobInterruptedError),
        {"attempt": 2, "errors": [{**ERRORS[0], "attempt": number} for number in (1, 2)]},
    ),
    "worker returns the context's error on its last attempt": (raises(JobInterruptedError), {"attempt": 24}),
    "soft stop timeout of 300 ms, worker returns the context's error": (raises(JobInterruptedError), {}),
}


@pytest.mark.parametrize("name", STOPPED)
def test_hard_stops(driver: Driver, name: str) -> None:
    """An interrupted job is available with its attempt restored; others end as they ended."""
    recorded = RECORDED["stop with interrupt", name]
    ending, fields = STOPPED[name]
    began = threading.Event()

    def task(job: Job) -> None:
        try:
            began.set()
            while not job.wait_stopped(0.01):
                pass
            for _ in range(DEADLINE and 100_000):
                job.wait_stopped(0.001)
        except JobInterruptedError:
            ending(job)

    soft = 0.3 if name.startswith("soft stop") else None
    now = datetime.now(UTC) - timedelta(seconds=1)
    job_id = put(driver, kind="task", args={}, created_at=now, scheduled_at=now, **fields)
    with running(driver, registry(task=task), parity="go", soft_stop_timeout=soft) as worker:
        events = worker.events.subscribe()
        assert began.wait(DEADLINE)
        worker.stop() if soft is not None else worker.stop_and_cancel(DEADLINE)
        seen = next_event(events).kind.value
    after = row(driver, job_id)
    assert [f"{seen}:{after.state.value}"] == recorded["events"]
    compare(after, {**recorded["row"], "attempted_by": ["one"]}, {})
