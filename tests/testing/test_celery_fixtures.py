"""Celery's fixtures and workers for tests, under their own names."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from river_compat.celery import _state
from river_compat.celery.contrib.abortable import AbortableAsyncResult, AbortableTask
from river_compat.celery.contrib.testing.app import TestApp, setup_default_app
from river_compat.celery.contrib.testing.worker import (
    start_worker,
    test_worker_started,
    test_worker_stopped,
)
from tests.databases import session_database

GUIDE = """
import pytest

pytest_plugins = ("river_compat.celery.contrib.pytest",)


@pytest.fixture(scope="session")
def celery_config():
    return {"task_default_queue": "tests"}


def test_create_task(celery_app, celery_worker):
    @celery_app.task
    def mul(x, y):
        return x * y

    assert mul.delay(4, 4).get(timeout=60) == 16
    assert celery_app.conf.task_default_queue == "tests"


@pytest.mark.celery(result_extended=True, task_default_queue="mine")
def test_marker(celery_app):
    assert celery_app.conf.result_extended
    assert celery_app.conf.task_default_queue == "mine"


class TestSession:
    @pytest.fixture(autouse=True)
    def _task(self, celery_session_app):
        @celery_session_app.task(name="double")
        def double(x):
            return 2 * x

        self.double = double

    def test_first(self, celery_session_worker):
        assert self.double.delay(4).get(timeout=60) == 8

    def test_second(self, celery_session_worker, celery_session_app):
        assert celery_session_app.tasks["double"].delay(5).get(timeout=60) == 10


def test_current(depends_on_current_app, celery_app):
    from river_compat.celery import current_app
    assert current_app._get_current_object() is celery_app
"""
TRAP = """
import pytest

pytest_plugins = ("river_compat.celery.contrib.pytest",)


@pytest.fixture(scope="session")
def use_celery_app_trap():
    return True


def test_trap(celery_app):
    from river_compat.celery import current_app
    with pytest.raises(RuntimeError, match="Test depends on current_app"):
        current_app.tasks
"""


def test_the_module_of_celerys_guide_runs(pytester: pytest.Pytester) -> None:
    """Row 17.1. Without a database named, each application has a file of its own."""
    pytester.makepyfile(GUIDE)
    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=5)


@pytest.mark.postgres
def test_the_fixtures_use_the_postgres_that_is_named(pytester: pytest.Pytester, postgres_server: Any) -> None:
    """Row 17.1. In the schema of the session, as the river_ fixtures do."""
    pytester.makepyfile(
        GUIDE
        + "\n\ndef test_where(celery_app):\n"
        + "    assert celery_app.conf.broker_url.startswith('postgresql://')\n"
    )
    with session_database(postgres_server.url) as database:
        done = pytester.runpytest_subprocess("--river-database-url", database.url)
    done.assert_outcomes(passed=6)


def test_the_trap_raises_where_the_current_application_is_used(pytester: pytest.Pytester) -> None:
    """Row 17.1. For tests of code that must be given its application."""
    pytester.makepyfile(TRAP)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


@pytest.mark.parametrize("pool", ["solo", "threads"])
def test_a_worker_starts_answers_and_stops(pool: str) -> None:
    """Rows 17.2, 17.3. With its signals; afterwards the applications are those of before."""
    app = TestApp()
    heard: list[str] = []

    def started(**_: Any) -> None:
        heard.append("started")

    def stopped(**_: Any) -> None:
        heard.append("stopped")

    test_worker_started.connect(started)
    test_worker_stopped.connect(stopped)

    @app.task(name="add")
    def add(x: int, y: int) -> int:
        return x + y

    before = _state.get_current_app()
    with setup_default_app(app):
        with start_worker(app, pool=pool) as worker:
            assert add.delay(2, 3).get(timeout=60) == 5
            assert worker.app is app
            assert heard == ["started"]
        assert heard == ["started", "stopped"]
    assert _state.get_current_app() is before


def test_a_worker_whose_task_does_not_end_is_reported() -> None:
    """Row 17.2. `shutdown_timeout` bounds the end of the block."""
    app = TestApp()
    go_on, runs = threading.Event(), threading.Event()

    @app.task(name="hold")
    def hold() -> None:
        runs.set()
        go_on.wait(60)

    def hold_one() -> None:
        with start_worker(app, pool="threads", shutdown_timeout=0.1):
            hold.delay()
            assert runs.wait(60)
            threading.Timer(0.5, go_on.set).start()

    with setup_default_app(app), pytest.raises(RuntimeError, match="shutdown_timeout"):
        hold_one()


def test_a_running_task_sees_that_it_is_to_abort() -> None:
    """Row 22.3. A task that waits sees it, too, when it starts."""
    app = TestApp()
    runs = threading.Event()

    @app.task(bind=True, base=AbortableTask, name="long")
    def long(self: Any) -> str:
        runs.set()
        for _ in range(1000):
            if self.is_aborted():
                return "stopped"
            runs.wait(0.01)
        return "went on"

    with setup_default_app(app):
        waiting = long.delay()
        assert isinstance(waiting, AbortableAsyncResult)
        assert not waiting.is_aborted()
        waiting.abort()
        assert waiting.is_aborted()
        with start_worker(app):
            assert waiting.get(timeout=60) == "stopped"
            runs.clear()
            running = long.delay()
            assert runs.wait(60)
            running.abort()
            assert running.get(timeout=60) == "stopped"
            assert not running.is_aborted()
