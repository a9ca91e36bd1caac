"""Waiting without cost: promises, coroutines, a thousand threads; and what hangs together."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from river_compat.celery import Celery
from river_compat.celery.exceptions import IncompleteStream
from river_compat.celery.exceptions import TimeoutError as ResultTimeoutError
from river_compat.celery.result import EagerResult
from river_core.drivers.base import Driver
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import finished
from tests.runtime.workers import wait_for

TIMEOUT = 60
MANY = 1000


def test_callbacks_run_without_anybody_waiting(app: Celery, working: Working) -> None:
    """In a thread of the library's own; of a set once all have ended; of what has ended at once."""
    echo = app.task(lambda x: x, name="echo", shared=False)
    seen: list[Any] = []
    told = threading.Event()
    one = echo.delay(1)
    promise = one.then(seen.append).then(lambda result: told.set())
    both = app.ResultSet([one, echo.delay(2)])
    all_told = threading.Event()
    both.then(lambda results: all_told.set())
    assert not promise.ready
    with working():
        assert told.wait(TIMEOUT)
        assert all_told.wait(TIMEOUT)
    assert seen == [one]
    assert both.get(timeout=0) == [1, 2]
    again = threading.Event()
    app.AsyncResult(one.id).then(lambda result: again.set())
    assert again.wait(TIMEOUT)
    eager: list[Any] = []
    EagerResult("id", 1, "SUCCESS").then(eager.append)
    assert eager == ["id"]


def test_a_callback_that_raises_disturbs_no_other(
    app: Celery, working: Working, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged."""
    echo = app.task(lambda x: x, name="echo", shared=False)
    told = threading.Event()
    result = echo.delay(1)
    result.then(lambda result: 1 / 0).then(lambda result: told.set())
    with working():
        assert told.wait(TIMEOUT)
        assert echo.delay(2).get(timeout=TIMEOUT) == 2
    assert "ZeroDivisionError" in caplog.text


def test_coroutines_await_results(app: Celery, working: Working) -> None:
    """Thousands of them without a thread each; exceptions are raised there."""

    @app.task(name="echo", shared=False)
    def echo(x):
        if x == "fail":
            raise ValueError("asked for")
        return x

    async def wait() -> list[Any]:
        results = [echo.delay(number) for number in range(20)]
        with pytest.raises(ValueError, match="asked for"):
            await echo.delay("fail")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_wait_for(app.AsyncResult("nobody")), 0.05)
        return await asyncio.gather(*(_wait_for(result) for result in results))

    with working():
        assert asyncio.run(wait()) == list(range(20))


async def _wait_for(result: Any) -> Any:
    return await result


def test_waiting_in_a_task_needs_leave_for_coroutines_too(app: Celery) -> None:
    """As get() does."""
    from river_compat.celery.result import denied_join_result

    async def wait() -> None:
        with denied_join_result():
            await app.AsyncResult("nobody")

    with pytest.raises(RuntimeError, match="allow_join_result"):
        asyncio.run(wait())


def test_a_thousand_threads_wait_with_two_connections(
    app: Celery, working: Working, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One listens, one reads."""
    echo = app.task(lambda x: x, name="echo", shared=False)
    results = [echo.delay(number) for number in range(MANY)]
    lent, most, lock = [0], [0], threading.Lock()
    plain = type(app.runtime.driver).connect

    def counted(self: Any) -> Any:
        loan = plain(self)
        return _Counted(loan, lent, most, lock) if threading.current_thread().name in waiting else loan

    waiting: set[str] = {"river-waiting"}
    answers: dict[int, Any] = {}

    def wait(number: int) -> None:
        answers[number] = results[number].get(timeout=120)

    threads = [threading.Thread(target=wait, args=(n,), name=f"waits-{n}") for n in range(MANY)]
    waiting.update(thread.name for thread in threads)
    monkeypatch.setattr(type(app.runtime.driver), "connect", counted)
    for thread in threads:
        thread.start()
    with working(concurrency=8):
        for thread in threads:
            thread.join()
    assert answers == {number: number for number in range(MANY)}
    assert most == [1]


class _Counted:
    """A loan that counts how many there are at a time."""

    def __init__(self, loan: Any, lent: list[int], most: list[int], lock: threading.Lock) -> None:
        self.loan, self.lent, self.most, self.lock = loan, lent, most, lock

    def __enter__(self) -> Any:
        with self.lock:
            self.lent[0] += 1
            self.most[0] = max(self.most[0], self.lent[0])
        return self.loan.__enter__()

    def __exit__(self, *error: Any) -> Any:
        with self.lock:
            self.lent[0] -= 1
        return self.loan.__exit__(*error)


def test_on_interval_is_called_while_one_waits(app: Celery) -> None:
    """Every `interval` seconds."""
    calls: list[int] = []

    def count() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise KeyError("enough")

    with pytest.raises(KeyError):
        app.send_task("any").get(interval=0.01, on_interval=count)
    with pytest.raises(ResultTimeoutError):
        app.send_task("any").get(timeout=0.03, interval=0.01, on_interval=calls.clear)


def test_what_a_task_has_sent_hangs_below_it(app: Celery, working: Working) -> None:
    """Children of children, groups too, walked, collected and drawn."""
    leaf = app.task(lambda x: x**2, name="leaf", shared=False)

    @app.task(shared=False)
    def middle(x):
        return leaf.delay(x)

    @app.task(bind=True, shared=False)
    def top(self, n):
        group = app.GroupResult(
            "the group", [middle.apply_async((i,), add_to_parent=False) for i in range(n)]
        )
        self.request.children.append(group)
        return group

    with working():
        result = top.delay(3)
        result.get(timeout=TIMEOUT)
        nodes: list[Any] = []
        wait_for(lambda: nodes.extend(_complete(result)) or nodes, "all of the tree")
    values = [value for node, value in result.collect() if not node.children]
    assert values == [0, 1, 4]
    assert result.get_leaf() == 4
    assert result.children == [app.GroupResult("the group", result.children[0].results)]
    graph = result.graph
    assert len(graph) == 1 + 1 + 3 + 3
    assert graph.topsort()[-1] == result


def _complete(result: Any) -> list[Any]:
    try:
        return list(result.iterdeps())
    except IncompleteStream:
        return []


def test_a_tree_that_has_not_ended_is_incomplete(app: Celery) -> None:
    """Unless the part that has is asked for."""
    result = app.send_task("any")
    with pytest.raises(IncompleteStream):
        list(result.iterdeps())
    assert list(result.iterdeps(intermediate=True)) == [(None, result)]


def test_a_parents_failure_is_raised_first(app: Celery, working: Working) -> None:
    """`follow_parents=False` does not look at them."""
    fail = app.task(lambda: 1 / 0, name="fail", shared=False)
    one = app.task(lambda: 1, name="one", shared=False)
    with working():
        parent, child = fail.delay(), one.delay()
        finished(app, parent.id)
        child.parent = parent
        with pytest.raises(ZeroDivisionError):
            child.get(timeout=TIMEOUT)
        assert child.get(timeout=TIMEOUT, follow_parents=False) == 1


def test_a_retried_task_is_waited_for_to_its_end(app: Celery, working: Working) -> None:
    """Over rows that did not exist when the waiting began."""

    @app.task(bind=True, shared=False, max_retries=5)
    def third(self):
        if self.request.retries < 2:
            raise self.retry(countdown=0)
        return self.request.retries

    with working():
        results = [third.delay() for _ in range(20)]
        assert app.ResultSet(results).get(timeout=TIMEOUT) == [2] * 20
        assert third.delay().get(timeout=TIMEOUT) == 2


def test_drain_runs_what_was_sent_without_a_worker(app: Celery) -> None:
    """Retries with countdown take no time when the clock is moved on."""
    from datetime import UTC, datetime, timedelta

    from river_compat.celery.contrib.testing.drain import drain
    from river_core.testing import StubClock

    @app.task(bind=True, shared=False, max_retries=3)
    def flaky(self):
        if self.request.retries < 2:
            raise self.retry(countdown=600)
        return "at last"

    result = flaky.delay()
    clock = StubClock(datetime.now(UTC) + timedelta(seconds=1))
    assert len(drain(app, clock=clock)) == 1
    assert (drain(app, clock=clock), result.state) == ([], "RETRY")
    clock.advance(1300)
    assert len(drain(app, clock=clock)) == 2
    assert result.get(timeout=0) == "at last"


def test_who_waits_alone_listens_and_reads_in_its_own_thread(
    app: Celery, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to wake it, and it does not look for what cannot be there yet."""
    echo = app.task(lambda x: x, name="echo", shared=False)
    looks: list[str] = []
    look = type(app.backend).look

    def noted(backend: Any, results: Any) -> Any:
        looks.append(threading.current_thread().name)
        return look(backend, results)

    for name in ("waiting.SLOW_POLL", "celery.result_waiting.JUST_NOW", "celery.result_waiting.LOOK_LATER"):
        monkeypatch.setattr(f"river_compat.{name}_SECONDS", float(TIMEOUT))  # however long a task takes here
    with working():
        assert echo.delay(0).get(timeout=TIMEOUT) == 0
        wait_for(lambda: app.runtime.waiter.hears, "the listening connection")
        monkeypatch.setattr(type(app.backend), "look", noted)
        for number in range(20):
            assert echo.delay(number).get(timeout=TIMEOUT * 2, interval=TIMEOUT) == number
    assert set(looks) == {threading.current_thread().name}
    assert len(looks) < 2 * 20


def test_the_end_of_what_was_sent_just_now_may_be_missed(app: Celery, working: Working) -> None:
    """It is looked for after a moment all the same, and then found."""
    echo = app.task(lambda x: x, name="echo", shared=False)
    with working():
        assert echo.delay(0).get(timeout=TIMEOUT) == 0
        result = echo.delay(1)
        wait_for(lambda: app.AsyncResult(result.id).ready(), "the end")
        result.sent_at = time.monotonic()
        assert result.get(timeout=TIMEOUT) == 1


def test_others_who_wait_are_told_when_the_one_who_listened_has_gone(app: Celery, working: Working) -> None:
    """Threads wait in turns and at the same time; each hears of its own."""
    echo = app.task(lambda x: x, name="echo", shared=False)
    found: list[int] = []

    def call(number: int) -> None:
        for part in range(10):
            found.append(echo.delay(10 * number + part).get(timeout=TIMEOUT))

    with working():
        threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT)
    assert sorted(found) == list(range(40))
