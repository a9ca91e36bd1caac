"""Result handles: states, waiting, what they refuse."""

from __future__ import annotations

import copy
import os
import pickle
import socket
import threading
from typing import Any

import pytest

from river_compat.celery import Celery
from river_compat.celery.exceptions import TimeoutError as ResultTimeoutError
from river_core.job import JobState
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import finished, rows_of
from tests.runtime.workers import wait_for

TIMEOUT = 60


def test_an_unknown_id_is_pending(app: Celery) -> None:
    """And does not exist; a waiting task does."""
    unknown = app.AsyncResult("nobody")
    assert (unknown.state, unknown.result, unknown.exists(), unknown.ready()) == (
        "PENDING",
        None,
        False,
        False,
    )
    waiting = app.send_task("any")
    assert (waiting.state, waiting.exists()) == ("PENDING", True)


def test_a_wait_ends_with_its_time(app: Celery) -> None:
    """The task goes on."""
    result = app.send_task("any")
    with pytest.raises(ResultTimeoutError):
        result.get(timeout=0)
    with pytest.raises(ResultTimeoutError):
        app.AsyncResult("nobody").get(timeout=0.05)


def test_a_bare_id_finds_the_task(app: Celery, working: Working) -> None:
    """In any process, with every fact about it."""
    app.task(lambda x, y: x + y, name="add", shared=False)
    with working():
        sent = app.send_task("add", (1,), {"y": 2})
        bare = app.AsyncResult(sent.id)
        assert bare.get(timeout=TIMEOUT) == 3
        assert (bare.name, bare.args, bare.kwargs, bare.queue, bare.retries) == (
            "add",
            [1],
            {"y": 2},
            "celery",
            0,
        )
        assert bare.worker == f"celery@{socket.gethostname()}"
    assert bare.date_done == rows_of(app, sent.id)[0].finalized_at


def test_the_states_of_a_retried_task(app: Celery, working: Working) -> None:
    """PENDING, RETRY with the exception while it waits, then what it ends with."""

    @app.task(bind=True, shared=False)
    def later(self):
        raise self.retry(exc=ValueError("not yet"), countdown=600)

    result = later.delay()
    assert result.state == "PENDING"
    with working():
        wait_for(lambda: result.state == "RETRY", "the retry")
    for handle in (result, app.AsyncResult(result.id)):
        assert (handle.state, repr(handle.result), handle.ready()) == (
            "RETRY",
            "ValueError('not yet')",
            False,
        )
        assert "later" in handle.traceback
        assert handle.retries == 1


def test_a_running_task_reports_its_start_only_if_asked_to(app: Celery, working: Working) -> None:
    """Code that polls for PENDING keeps working."""
    go = threading.Event()
    quiet = app.task(lambda: go.wait(TIMEOUT), name="quiet", shared=False)
    loud = app.task(lambda: go.wait(TIMEOUT), name="loud", track_started=True, shared=False)
    with working():
        results = [quiet.delay(), loud.delay()]
        for result in results:
            wait_for(lambda result=result: rows_of(app, result.id)[0].state is JobState.RUNNING, "the start")
        assert [result.state for result in results] == ["PENDING", "STARTED"]
        assert results[1].info["hostname"] == f"celery@{socket.gethostname()}"
        go.set()
        assert [result.get(timeout=TIMEOUT) for result in results] == [True, True]


def test_a_state_of_ones_own_is_visible_while_the_task_runs(app: Celery, working: Working) -> None:
    """With its facts, exactly."""
    go = threading.Event()

    @app.task(bind=True, shared=False)
    def work(self):
        self.update_state(state="PROGRESS", meta={"z": 1, "done": 0.5, "a": "\x00"})
        go.wait(TIMEOUT)
        return "end"

    with working():
        result = work.delay()
        wait_for(lambda: result.state == "PROGRESS", "the report")
        assert repr(result.info) == "{'z': 1, 'done': 0.5, 'a': '\\x00'}"
        go.set()
        assert result.get(timeout=TIMEOUT) == "end"
        assert result.state == "SUCCESS"


def test_exceptions_may_be_returned_instead_of_raised(app: Celery, working: Working) -> None:
    """`propagate=False`."""

    @app.task(shared=False)
    def fail():
        raise KeyError("k")

    with working():
        assert repr(fail.delay().get(timeout=TIMEOUT, propagate=False)) == "KeyError('k')"


def test_callbacks_of_get_are_called(app: Celery, working: Working) -> None:
    """With id and value."""
    seen: list[Any] = []
    one = app.task(lambda: 1, name="one", shared=False)
    with working():
        result = one.delay()
        result.get(timeout=TIMEOUT, callback=lambda *arguments: seen.append(arguments))
    assert seen == [(result.id, 1)]


def test_waiting_inside_a_task_is_refused(app: Celery, working: Working) -> None:
    """Its worker might never get to run the other one."""
    one = app.task(lambda: 1, name="one", shared=False)

    @app.task(shared=False)
    def outer(allow):
        return one.delay().get(timeout=TIMEOUT, disable_sync_subtasks=not allow)

    with working():
        with pytest.raises(RuntimeError, match="allow_join_result"):
            outer.delay(False).get(timeout=TIMEOUT)
        assert outer.delay(True).get(timeout=TIMEOUT) == 1


def test_children_know_their_parents(app: Celery, working: Working) -> None:
    """Root and parent ids, and the results of what a task has sent."""

    @app.task(bind=True, shared=False)
    def child(self):
        return [self.request.root_id, self.request.parent_id]

    @app.task(shared=False)
    def parent():
        return child.delay().id

    with working():
        result = parent.delay()
        child_id = result.get(timeout=TIMEOUT)
        assert app.AsyncResult(child_id).get(timeout=TIMEOUT) == [result.id, result.id]
    assert result.children == [child_id]


def test_a_forgotten_result_is_gone(app: Celery, working: Working) -> None:
    """Every row of the task."""
    one = app.task(lambda: 1, name="one", shared=False)
    with working():
        result = one.delay()
        result.get(timeout=TIMEOUT)
    result.forget()
    assert (result.state, result.exists(), rows_of(app, result.id)) == ("PENDING", False, [])


def test_handles_travel(app: Celery, working: Working) -> None:
    """Copied and pickled, with their row."""
    one = app.task(lambda: 1, name="one", shared=False)
    with working():
        result = one.delay()
        finished(app, result.id)
    app.set_current()
    for handle in (copy.copy(result), pickle.loads(pickle.dumps(result))):  # noqa: S301 - our own bytes
        assert handle.get(timeout=TIMEOUT) == 1


def test_many_threads_wait_on_one_connection(app: Celery, working: Working) -> None:
    """Each gets its own result."""
    echo = app.task(lambda x: x, name="echo", shared=False)
    answers: dict[int, Any] = {}
    results = {number: echo.delay(number) for number in range(40)}
    waiting = [
        threading.Thread(target=lambda n=number, r=result: answers.update({n: r.get(timeout=TIMEOUT)}))
        for number, result in results.items()
    ]
    for thread in waiting:
        thread.start()
    with working():
        for thread in waiting:
            thread.join()
    assert answers == {number: number for number in results}


def test_two_runs_of_one_id_the_success_counts(app: Celery, working: Working) -> None:
    """A later failure does not change what has succeeded."""

    @app.task(shared=False)
    def maybe(fail):
        if fail:
            raise ValueError("late")
        return "kept"

    with working():
        first = maybe.apply_async((False,), task_id="same")
        assert first.get(timeout=TIMEOUT) == "kept"
        second = maybe.apply_async((True,), task_id="same")
        wait_for(second.ready, "the second run")
    assert app.AsyncResult("same").get(timeout=TIMEOUT) == "kept"


def test_waiting_goes_on_in_a_forked_child(app: Celery, working: Working) -> None:
    """It listens on a connection of its own; the parent's is left alone."""
    echo = app.task(lambda x: x, name="echo", shared=False)
    with working():
        assert echo.delay(1).get(timeout=TIMEOUT) == 1
        child = os.fork()
        if child == 0:
            try:
                os._exit(echo.delay(7).get(timeout=TIMEOUT))
            finally:
                os._exit(99)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert echo.delay(2).get(timeout=TIMEOUT) == 2
