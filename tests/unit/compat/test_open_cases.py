"""What users of Celery run into, shown without a server."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kombu.exceptions import OperationalError

from river_compat.celery import Celery, chord
from river_compat.celery.exceptions import MaxRetriesExceededError, TaskRevokedError

NOWHERE = "postgresql://127.0.0.1:1/x"


PATIENCE = 30.0
"""Five seconds are a call's own time; without that, the system waits for minutes."""


@contextlib.contextmanager
def database(is_silent: bool) -> Iterator[str]:
    """The URL of one that takes connections and never answers, or of one that refuses them."""
    if not is_silent:
        yield NOWHERE
        return
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"postgresql://127.0.0.1:{server.getsockname()[1]}/x"


@pytest.mark.parametrize("is_silent", [True, False])
def test_sending_to_a_database_that_is_down_fails_soon(is_silent: bool) -> None:
    """O06: in the second call as in the first, by Celery's error; who is not told in time hangs."""
    with database(is_silent) as url:
        app = Celery("down", broker=url, set_as_current=False)
        task = app.task(lambda x, y: x + y, name="down.add", shared=False)
        for _ in range(2):
            assert isinstance(answer_within(PATIENCE, lambda: task.delay(1, 1)), OperationalError)
        app.close()


def answer_within(seconds: float, call: Callable[[], object]) -> object:
    """Return what the call gives or raises; fail when it has done neither by then."""
    answers: list[object] = []

    def run() -> None:
        try:
            answers.append(call())
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            answers.append(error)

    caller = threading.Thread(target=run, daemon=True)
    caller.start()
    caller.join(seconds)
    assert answers, f"still waits after {seconds} s"
    return answers[0]


@pytest.fixture
def eager() -> Celery:
    """An eager application with no database at all."""
    app = Celery("eager", broker=NOWHERE, set_as_current=False)
    app.conf.task_always_eager = True
    return app


def test_eager_retries_run_as_in_production(eager: Celery) -> None:
    """O16: attempts are counted, and past the last one the task's own error is raised."""
    runs: list[int] = []

    @eager.task(bind=True, shared=False, max_retries=2, default_retry_delay=3600)
    def flaky(self: Any, until: int) -> str:
        runs.append(self.request.retries)
        if len(runs) < until:
            raise self.retry(exc=KeyError("not yet"))
        return "done"

    assert flaky.delay(3).get() == "done"
    assert runs == [0, 1, 2]
    runs.clear()
    failed = flaky.delay(9)
    assert (failed.state, len(runs)) == ("FAILURE", 3)
    with pytest.raises(KeyError, match="not yet"):
        failed.get()

    @eager.task(bind=True, shared=False, max_retries=0)
    def hopeless(self: Any) -> None:
        raise self.retry()

    with pytest.raises(MaxRetriesExceededError):
        hopeless.delay().get()


def test_eager_workflows_run_as_in_production(eager: Celery) -> None:
    """O16: a chord, a replacement, an error callback once, and a task that has expired."""
    heard: list[str] = []
    add = eager.task(lambda x, y: x + y, name="add", shared=False)
    total = eager.task(sum, name="total", shared=False)

    @eager.task(bind=True, shared=False)
    def replaced(self: Any) -> Any:
        return self.replace(add.s(20, 22))

    @eager.task(shared=False)
    def fails() -> None:
        raise ValueError("broken")

    @eager.task(shared=False)
    def on_error(request: Any, error: BaseException, traceback: Any) -> None:
        heard.append(f"{request.id} {error!r}")

    assert chord([add.s(n, n) for n in range(4)], total.s(), app=eager)().get() == 12
    assert replaced.delay().get() == 42
    fails.apply_async(task_id="f", link_error=on_error.s())
    assert heard == ["f ValueError('broken')"]
    late = add.apply_async((1, 1), expires=datetime.now(UTC) - timedelta(seconds=1))
    assert late.state == "REVOKED"
    with pytest.raises(TaskRevokedError):
        late.get()
    assert add.apply_async((1, 1), expires=60).get() == 2


@pytest.mark.parametrize("propagates", [True, False])
def test_eager_errors_are_raised_where_the_setting_says(eager: Celery, propagates: bool) -> None:
    """O16: by the call itself, or by `get`, and it is the task's own error."""
    eager.conf.task_eager_propagates = propagates

    @eager.task(shared=False)
    def fails() -> None:
        raise LookupError("mine")

    if propagates:
        with pytest.raises(LookupError, match="mine"):
            fails.delay()
    else:
        result = fails.delay()
        assert result.failed()
        with pytest.raises(LookupError, match="mine"):
            result.get()


def test_eager_arguments_arrive_as_in_production(eager: Celery) -> None:
    """O16: what JSON cannot hold is refused, and a tuple arrives as a list."""
    kind = eager.task(lambda value: type(value).__name__, name="kind", shared=False)
    assert kind.delay((1, 2)).get() == "list"
    with pytest.raises(Exception, match="JSON"):
        kind.delay(object())
