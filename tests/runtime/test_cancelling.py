"""Rows of adapter tasks are cancelled by the task's id or stamps, with what waits for them, at once."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from river_core import Client, Job, Registry, Task, join
from river_core.cancelling import Canceller, list_terminated, purge_tasks
from river_core.drivers.base import Driver
from river_core.insert import InsertParams
from river_core.job import JobRow, JobState
from river_core.links import Break, Feed, Links, feeds_of
from river_core.outcome import Cancelled, Completed, Failed, Outcome
from tests.runtime.stored import NOW, put
from tests.runtime.workers import DEADLINE, row, running, wait_for

WAITING = ("available", "scheduled", "retryable", "pending")


class Call(Task):
    """An adapter's task: waits for a gate where there is one; breaks what waits in vain."""

    kind = "python_task"
    adapter = True

    def __init__(self) -> None:
        self.began = threading.Event()
        self.release = threading.Event()
        self.job: Job | None = None

    def work(self, job: Job) -> Outcome:
        self.job = job
        self.began.set()
        assert self.release.wait(DEADLINE)
        return Completed({"stopped": job.stopped})

    def broken(self, job: JobRow, cause: Break) -> Outcome:
        breaks = tuple(Break(target, index, cause.cause) for target, index in feeds_of(job.metadata))
        return Failed(ValueError("broken"), {"by": cause.cause["by"]}, False, trace="", hand_overs=breaks)


def ends(job: JobRow) -> Cancelled:
    """As an adapter says it."""
    breaks = tuple(Break(target, index, {"by": job.id}) for target, index in feeds_of(job.metadata))
    return Cancelled("revoked", {"outcome": "revoked"}, hand_overs=breaks)


@pytest.fixture
def canceller(driver: Driver) -> Canceller:
    """A canceller of such tasks."""
    return Canceller(driver, Registry().add(Call()), ends)


def args(task_id: str, framework: str = "celery") -> dict[str, Any]:
    return {"version": 1, "task": {"id": task_id, "framework": framework, "name": "add"}}


def call(task_id: str, **links: Any) -> InsertParams:
    state = JobState.PENDING if "name" in links else JobState.AVAILABLE
    return InsertParams("python_task", json.dumps(args(task_id)), state=state, links=Links(**links))


@pytest.mark.parametrize("state", WAITING)
def test_a_row_that_waits_ends_at_once(driver: Driver, canceller: Canceller, state: str) -> None:
    """Whatever it waits for, with its reason and River's own mark; no worker is needed."""
    job_id = put(driver, kind="python_task", args=args("a"), state=state)
    other = put(driver, kind="python_task", args=args("b"), state=state)
    done = canceller.cancel_tasks(["a", "unknown"])
    assert [item.id for item in done.ended] == [job_id]
    ended = row(driver, job_id)
    assert (ended.state, ended.metadata["outcome"], ended.errors[-1].error) == (
        JobState.CANCELLED,
        "revoked",
        "revoked",
    )
    assert "cancel_attempted_at" in ended.metadata
    assert row(driver, other).state == state


def test_what_has_ended_stays_and_other_kinds_do(driver: Driver, canceller: Canceller) -> None:
    """A result is not taken back, and a native job with such arguments is none of ours."""
    kept = [
        put(
            driver,
            kind="python_task",
            args=args("a"),
            state="completed",
            finalized_at=NOW,
        ),
        put(driver, kind="native", args=args("a")),
    ]
    done = canceller.cancel_tasks(["a"])
    assert (done.ended, done.running) == ([], [])
    assert [row(driver, job_id).state for job_id in kept] == ["completed", "available"]


def test_what_waits_for_it_is_broken_in_the_same_transaction(driver: Driver, canceller: Canceller) -> None:
    """Down the whole chain; a waiter wakes at once."""
    results = Client(driver).insert_params(
        [
            call("a", feeds=(Feed("b", 0),)),
            call("b", name="b", feeds=(Feed("c", 0),)),
            call("c", name="c"),
        ]
    )
    first, second, third = (result.job.id for result in results)
    canceller.cancel_tasks(["a"])
    assert [row(driver, job_id).state for job_id in (first, second, third)] == [
        "cancelled",
        "discarded",
        "discarded",
    ]
    assert row(driver, third).metadata["by"] == first


def test_a_cancellation_goes_with_the_callers_transaction(driver: Driver, canceller: Canceller) -> None:
    """It sees what was inserted in it, and a rollback undoes it."""
    kept = put(driver, kind="python_task", args=args("kept"))
    inserted: list[int] = []

    def call_and_cancel() -> None:
        with driver.connect() as connection, connection.transaction(), join(connection.raw):
            inserted.append(Client(driver).insert_params([call("new")])[0].job.id)
            found = [item.id for item in canceller.cancel_tasks(["new", "kept"]).ended]
            assert found == [kept, *inserted]
            raise KeyError

    with pytest.raises(KeyError):
        call_and_cancel()
    assert row(driver, kept).state is JobState.AVAILABLE


def test_a_running_row_is_marked_and_told(driver: Driver, canceller: Canceller) -> None:
    """It goes on, knows, and what it brings counts; the wish to end it by a signal stands in its row."""
    task = Call()
    [result] = Client(driver).insert_params([call("a")])
    with running(driver, Registry().add(task)):
        assert task.began.wait(DEADLINE)
        done = canceller.cancel_tasks(["a"], signal="SIGTERM")
        assert [item.id for item in done.running] == [result.job.id]
        assert list_terminated(driver, [result.job.id]) == [(result.job.id, 1, "SIGTERM")]
        wait_for(lambda: task.job is not None and task.job.stopped, "the word that it is to stop")
        task.release.set()
        wait_for(lambda: row(driver, result.job.id).finalized_at, "the end")
    ended = row(driver, result.job.id)
    assert (ended.state, ended.metadata["stopped"]) == (JobState.COMPLETED, True)
    assert list_terminated(driver, [result.job.id]) == []


def test_rows_are_found_by_their_stamps(driver: Driver, canceller: Canceller) -> None:
    """By any of several, a list or one value; texts and numbers are not mixed up."""
    stamped = [
        put(driver, kind="python_task", args=args(str(n)), metadata={"python_task_stamps": stamps})
        for n, stamps in enumerate(
            ({"batch": ["a", "b"]}, {"batch": "b"}, {"batch": ["c"]}, {"other": ["b"]}, {"batch": [1]})
        )
    ]
    put(driver, kind="python_task", args=args("none"))
    done = canceller.cancel_stamped([("batch", "b"), ("batch", "1"), ("other", "x")])
    assert [item.id for item in done.ended] == stamped[:2]
    assert [item.id for item in canceller.cancel_stamped([("batch", 1)]).ended] == stamped[4:]


def test_a_purge_deletes_what_waits_and_nothing_else(driver: Driver) -> None:
    """Of the framework, in the queues, in states that wait for a worker."""
    gone = [
        put(driver, kind="python_task", args=args(state), state=state, queue="one")
        for state in ("available", "scheduled", "retryable")
    ]
    kept = [
        put(driver, kind="python_task", args=args("a"), state="running", queue="one", attempt=1),
        put(driver, kind="python_task", args=args("a"), state="pending", queue="one"),
        put(driver, kind="python_task", args=args("a"), queue="two"),
        put(driver, kind="python_task", args=args("a", "rq"), queue="one"),
        put(driver, kind="native", args=args("a"), queue="one"),
    ]
    assert purge_tasks(driver, "celery", ["one", "none"]) == len(gone)
    assert purge_tasks(driver, "celery", ["one"]) == 0
    left = {item.id for item in Client(driver).job_list().jobs}
    assert left == set(kept)
