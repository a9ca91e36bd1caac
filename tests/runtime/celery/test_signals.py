"""Which handlers and receivers hear of a run, in which order, and what is in the database by then."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

import pytest

from river_compat.celery import Celery, Task, signals
from river_compat.celery.app import trace
from river_compat.celery.exceptions import BackendStoreError, Ignore, Reject, Retry, WorkerLostError
from river_compat.celery.loaders.app import AppLoader
from river_compat.celery.worker import WorkController
from river_compat.celery.worker_telling import ReceivedRequest
from river_core.drivers.base import Driver
from river_core.errors import JobCancelError
from river_core.job import JobState
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import insert_envelope, rows_of
from tests.runtime.workers import wait_for

OF_RUNS = (
    "task_received",
    "task_prerun",
    "task_postrun",
    "task_success",
    "task_failure",
    "task_retry",
    "task_revoked",
    "task_internal_error",
    "task_unknown",
    "task_rejected",
)


@contextmanager
def hearing(*names: str) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """Collect what signals tell while the block runs."""
    heard: list[tuple[str, dict[str, Any]]] = []
    with ExitStack() as stack:
        for name in names or OF_RUNS:
            signal = getattr(signals, name)

            def receiver(label: str = name, **kwargs: Any) -> None:
                heard.append((label, kwargs))

            signal.connect(receiver, weak=False)
            stack.callback(signal.disconnect, receiver)
        yield heard


class Recording(Task):  # type: ignore[type-arg]
    """Tells which handlers run, and what the result looks like then."""

    seen: list[Any] = []  # noqa: RUF012 - each test replaces it

    def before_start(self, task_id: str, args: Any, kwargs: Any) -> None:
        self.seen.append("before_start")

    def on_success(self, retval: Any, task_id: str, args: Any, kwargs: Any) -> None:
        self.seen.append(("on_success", self.AsyncResult(task_id).state, self.request.id == task_id))

    def on_failure(self, exc: Any, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        self.seen.append(("on_failure", self.AsyncResult(task_id).state, self.request.id == task_id))

    def on_retry(self, exc: Any, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        self.seen.append(("on_retry", self.AsyncResult(task_id).state, self.request.id == task_id))

    def after_return(
        self, status: str, retval: Any, task_id: str, args: Any, kwargs: Any, einfo: Any
    ) -> None:
        self.seen.append(("after_return", status, einfo))


def act(how: str) -> str:
    """End in one of many ways."""
    errors: dict[str, BaseException] = {
        "fail": ValueError(how),
        "ignore": Ignore(),
        "reject": Reject(how),
        "exit": SystemExit(3),
        "cancel": JobCancelError(how),
    }
    if how in errors:
        raise errors[how]
    return how


HEARD: dict[str, list[Any]] = {
    "return": [
        "task_prerun",
        "before_start",
        ("on_success", "SUCCESS", True),
        "task_success",
        ("after_return", "SUCCESS", None),
        ("task_postrun", "SUCCESS"),
    ],
    "fail": [
        "task_prerun",
        "before_start",
        ("on_failure", "FAILURE", True),
        "task_failure",
        ("after_return", "FAILURE", None),
        ("task_postrun", "FAILURE"),
    ],
    "ignore": ["task_prerun", "before_start", ("task_postrun", "IGNORED")],
    "reject": ["task_prerun", "before_start", ("task_postrun", "REJECTED"), "task_failure"],
    "exit": ["task_prerun", "before_start", ("task_postrun", None), "task_failure"],
    "cancel": ["task_prerun", "before_start", ("task_postrun", None)],
}


@pytest.mark.parametrize("how", HEARD)
def test_order_of_handlers_and_signals(app: Celery, working: Working, how: str) -> None:
    """As in Celery, and after the outcome is written, so that what they read is the end.

    Rows 4.7, 13.4, 13.5, 13.6, 6.4.
    """
    seen: list[Any] = []
    work = app.task(act, base=Recording, name="act", shared=False, seen=seen)

    def receiver(signal: Any, **kwargs: Any) -> None:
        seen.append((signal.name, kwargs["state"]) if signal is signals.task_postrun else signal.name)

    told = (signals.task_prerun, signals.task_success, signals.task_failure, signals.task_postrun)
    with ExitStack() as stack:
        for signal in told:
            signal.connect(receiver)
            stack.callback(signal.disconnect, receiver)
        with working():
            work.apply_async((how,), task_id=how)
            wait_for(lambda: len(seen) >= len(HEARD[how]), "all of them")
    assert seen == HEARD[how]


def test_a_retry_is_told_once_its_next_run_is_written(app: Celery, working: Working) -> None:
    """The next run is there when `on_retry` and `task_retry` hear of it. Row 13.7."""
    seen: list[Any] = []

    @app.task(base=Recording, name="again", shared=False, seen=seen, bind=True)
    def again(self: Any) -> None:
        if not self.request.retries:
            raise self.retry(exc=KeyError("later"), countdown=0)

    with hearing("task_retry", "task_postrun") as heard, working(concurrency=1):
        result = again.delay()
        wait_for(lambda: len(heard) == 3, "retry and two ends")
    assert seen[:2] == ["before_start", ("on_retry", "RETRY", True)]
    assert [(name, kwargs.get("state")) for name, kwargs in heard] == [
        ("task_retry", None),
        ("task_postrun", "RETRY"),
        ("task_postrun", "SUCCESS"),
    ]
    told = heard[0][1]
    assert (told["request"].id, repr(told["reason"].exc)) == (result.id, "KeyError('later')")
    assert len(rows_of(app, result.id)) == 2


def test_arguments_of_signals(app: Celery, working: Working) -> None:
    """Names and values that receivers get. Rows 13.3, 13.4, 13.5, 13.6."""
    work = app.task(act, name="act", shared=False)
    with hearing() as heard, working():
        work.apply_async(kwargs={"how": "return"}, task_id="good")
        wait_for(lambda: len(heard) == 4, "the success")
        good, heard[:] = dict(heard), []
        work.apply_async(("fail",), task_id="bad")
        wait_for(lambda: len(heard) == 4, "the failure")
        bad = dict(heard)
    for kwargs in (*good.values(), *bad.values()):
        assert kwargs.pop("signal").name in OF_RUNS
    request = good["task_received"].pop("request")
    assert isinstance(request, ReceivedRequest)
    assert [request.id, request.task_id, request.name] == ["good", "good", "act"]
    assert request.kwargs == {"how": "return"}
    assert request.request_dict["root_id"] == "good"
    run = {"sender": work, "task_id": "good", "task": work, "args": [], "kwargs": {"how": "return"}}
    assert good["task_prerun"] == run
    assert good["task_postrun"] == {**run, "retval": "return", "state": "SUCCESS"}
    assert good["task_success"].pop("runtime") >= 0
    assert good["task_success"] == {"sender": work, "result": "return"}
    failure = bad["task_failure"]
    assert failure.pop("traceback") is failure["exception"].__traceback__
    assert "ValueError: fail" in str(failure.pop("einfo"))
    assert repr(failure.pop("exception")) == "ValueError('fail')"
    assert failure == {"sender": work, "task_id": "bad", "args": ["fail"], "kwargs": {}}


def test_a_task_that_ends_its_process_is_told_as_lost(app: Celery, working: Working) -> None:
    """With the exception that its result has; the task is the current one. Rows 6.4, 13.6."""
    work = app.task(act, name="act", shared=False)
    current: list[Any] = []

    def receiver(exception: Any, **kwargs: Any) -> None:
        current.append((type(exception), app.current_task, work.request.id))

    signals.task_failure.connect(receiver)
    with working():
        work.apply_async(("exit",), task_id="x")
        wait_for(lambda: current, "the signal")
    assert current == [(WorkerLostError, app.tasks["act"], "x")]


def test_a_plain_task_waits_for_nothing(app: Celery, working: Working) -> None:
    """Nobody listens, so its slot is free before its outcome is written."""
    jobs: list[Any] = []

    @app.task(bind=True, shared=False, name="plain")
    def plain(self: Any) -> None:
        jobs.append(self.request.__dict__["_storing"].after_write.args[0])

    with working():
        plain.delay().get(timeout=60)
    assert jobs[0].powers is None


def test_an_expired_task_is_told_as_revoked(app: Celery, working: Working) -> None:
    """It is neither received nor run. Row 13.8."""
    work = app.task(act, name="act", shared=False)
    with hearing() as heard, working():
        result = work.apply_async(("return",), expires=datetime.now(UTC) - timedelta(seconds=9))
        wait_for(lambda: heard, "the signal")
    assert [name for name, _ in heard] == ["task_revoked"]
    revoked = heard[0][1]
    assert (revoked["sender"], revoked["request"].id) == (app.tasks["act"], result.id)
    assert (revoked["terminated"], revoked["signum"], revoked["expired"]) == (False, None, True)


def envelope(name: str, task_id: str, body: str) -> dict[str, Any]:
    """What another program may have written."""
    return {"version": 1, "task": {"id": task_id, "framework": "celery", "name": name, "body": body}}


def test_unknown_and_unreadable_calls_are_told(app: Celery, working: Working) -> None:
    """`message` is the row. Row 13.10."""
    app.finalize()
    with hearing("task_unknown", "task_rejected") as heard, working():
        unknown = insert_envelope(app, envelope("nobody.knows", "u", "[[], {}, {}]"))
        wait_for(lambda: heard, "the unknown one")
        app.task(act, name="act", shared=False)
        broken = insert_envelope(app, envelope("act", "b", "["))
        wait_for(lambda: "task_rejected" in dict(heard), "the unreadable one")
    [rejected] = [facts for name, facts in heard if name == "task_rejected"]
    for told in (facts for name, facts in heard if name == "task_unknown"):  # again when it was put off
        assert (told["name"], told["id"], told["message"].id) == ("nobody.knows", "u", unknown)
    assert (heard[0][0], rejected["message"].id) == ("task_unknown", broken)
    assert rejected["exc"] is not None


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_success_that_the_database_refuses_is_told_as_a_failure(app: Celery, working: Working) -> None:
    """Nobody hears of a success that is none."""
    seen: list[Any] = []

    @app.task(base=Recording, name="refused", shared=False, seen=seen, bind=True)
    def refused(self: Any) -> None:
        self.request.__dict__["_storing"].after_write.args[0].keep_metadata({"x": "\x00"})

    with hearing("task_success", "task_failure") as heard, working():
        result = refused.delay()
        wait_for(lambda: len(seen) == 3, "the handlers")
    assert seen == ["before_start", ("on_failure", "FAILURE", True), ("after_return", "FAILURE", None)]
    assert [name for name, _ in heard] == ["task_failure"]
    assert isinstance(heard[0][1]["exception"], BackendStoreError)
    assert rows_of(app, result.id)[0].state is JobState.DISCARDED


def test_errors_of_handlers_are_logged_and_change_nothing(
    app: Celery, working: Working, caplog: pytest.LogCaptureFixture
) -> None:
    """Also those that nothing catches, such as SystemExit: the attempt is over by then. Row 4.7."""

    class Failing(Task):  # type: ignore[type-arg]
        def on_success(self, *args: Any) -> None:
            raise KeyError("handler")

        def after_return(self, *args: Any) -> None:
            sys.exit(4)

    work = app.task(act, base=Failing, name="act", shared=False)
    with hearing("task_postrun") as heard, working():
        result = work.delay("return")
        wait_for(lambda: heard, "the end")
        assert result.get(timeout=60) == "return"
    assert "on_success handler raised: KeyError('handler')" in caplog.text
    assert "telling of its end failed" in caplog.text
    assert heard[0][1]["state"] == "SUCCESS"


def test_an_error_around_the_task_is_an_internal_one(
    app: Celery, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here a library that wraps the tracer has a fault: the task fails, the signal tells why. Row 13.9."""
    work = app.task(act, name="act", shared=False)

    def build_tracer(*args: Any, **kwargs: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("wrapper")

        return run

    monkeypatch.setattr(trace, "build_tracer", build_tracer)
    with hearing("task_internal_error") as heard, working():
        result = work.apply_async(("return",), task_id="i")
        with pytest.raises(RuntimeError, match="wrapper"):
            result.get(timeout=60)
    [(_, told)] = heard
    assert (told["sender"], told["task_id"], told["args"]) == (app.tasks["act"], "i", ["return"])
    assert told["request"].id == "i"
    assert "wrapper" in str(told["einfo"])


def test_retry_raised_by_hand_runs_again_up_to_the_limit(app: Celery, working: Working) -> None:
    """`on_retry` hears of what is scheduled, `on_failure` of what is not. Row 5.16."""
    seen: list[Any] = []

    @app.task(base=Recording, name="hand", shared=False, seen=seen, max_retries=1)
    def hand() -> None:
        raise Retry(when=0)

    with hearing("task_retry", "task_failure") as heard, working(concurrency=1):
        result = hand.delay()
        with pytest.raises(hand.MaxRetriesExceededError):
            result.get(timeout=60)
        wait_for(lambda: len(seen) == 5, "both runs")
    assert [name for name, _ in heard] == ["task_retry", "task_failure"]
    assert [what if isinstance(what, str) else what[0] for what in seen] == [
        "before_start",
        "on_retry",
        "before_start",
        "on_failure",
        "after_return",
    ]


def test_the_loader_hears_of_workers_and_tasks(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hooks are called around the signals; an error before the task fails it. Rows 13.9, 22.7."""
    seen: list[str] = []

    class Loader(AppLoader):
        def on_task_init(self, task_id: str, task: Any) -> None:
            seen.append(f"task {task_id}")
            if task_id == "bad":
                raise LookupError("loader")

        def on_process_cleanup(self) -> None:
            seen.append("cleanup")

        def on_worker_init(self) -> None:
            seen.append("worker")

        def on_worker_process_init(self) -> None:
            seen.append("process")

        def on_worker_shutdown(self) -> None:
            seen.append("shutdown")

    def receiver(**kwargs: Any) -> None:
        seen.append("postrun")

    signals.task_postrun.connect(receiver)
    with Celery("loaded", loader=Loader, set_as_current=False, river_driver=driver) as app:
        work = app.task(act, name="act", shared=False)
        worker = WorkController(app=app, pool="threads", concurrency=1)
        thread = Thread(target=worker.start)
        with hearing("task_internal_error") as heard:
            thread.start()
            assert work.apply_async(("return",), task_id="good").get(timeout=60) == "return"
            with pytest.raises(LookupError, match="loader"):
                work.apply_async(("return",), task_id="bad").get(timeout=60)
            wait_for(lambda: seen.count("cleanup") == 2, "both ends")
            worker.stop()
            thread.join(60)
    signals.task_postrun.disconnect(receiver)
    assert [name for name, _ in heard] == ["task_internal_error"]
    runs = [line for name in ("good", "bad") for line in (f"task {name}", "postrun", "cleanup")]
    assert seen == ["worker", "process", *runs, "shutdown"]
