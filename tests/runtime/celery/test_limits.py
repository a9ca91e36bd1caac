"""Limits of tasks, and their termination, in threads."""

from __future__ import annotations

import logging
import signal
import threading
import time

import pytest

from river_compat.celery import Celery
from river_compat.celery.exceptions import SoftTimeLimitExceeded, TaskRevokedError, TimeLimitExceeded
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import rows_of
from tests.runtime.workers import wait_for

TIMEOUT = 60


@pytest.fixture
def release() -> threading.Event:
    """Lets the tasks of a test end."""
    return threading.Event()


def test_a_soft_limit_is_raised_once(
    app: Celery, working: Working, release: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    """Rows 10.1, 10.2. Who swallows it goes on, until the hard limit ends it; Celery's lines are logged."""
    heard: list[str] = []

    @app.task(shared=False, name="deaf", soft_time_limit=0.5, time_limit=4)
    def deaf() -> None:
        while not release.is_set():
            try:
                while not release.wait(0.005):
                    pass
            except SoftTimeLimitExceeded as error:
                heard.append(str(error))

    with caplog.at_level(logging.WARNING, "celery.worker.request"), working(concurrency=1):
        result = deaf.delay()
        with pytest.raises(TimeLimitExceeded) as raised:
            result.get(timeout=TIMEOUT)
        release.set()
    assert heard == ["SoftTimeLimitExceeded()"]
    assert str(raised.value) == "TimeLimitExceeded(4,)"
    lines = [record.getMessage() for record in caplog.records if "time limit" in record.getMessage()]
    assert lines == [
        f"Soft time limit (0.5s) exceeded for deaf[{result.id}]",
        f"Hard time limit (4s) exceeded for deaf[{result.id}]",
    ]


def test_a_thread_ends_its_task_when_that_is_terminated(
    app: Celery, working: Working, release: threading.Event
) -> None:
    """Row 10.6. That attempt and no other; the thread takes the next task."""
    began = threading.Event()

    @app.task(shared=False, name="holds")
    def holds() -> None:
        began.set()
        while not release.is_set():
            time.sleep(0.005)

    quick = app.task(lambda: "ran", name="quick", shared=False)
    with working(concurrency=1) as worker:
        result, after = holds.delay(), quick.delay()
        assert began.wait(TIMEOUT)
        [row] = rows_of(app, result.id)
        assert not worker.terminate_job(row.id, row.attempt + 1, signal.SIGTERM)
        assert not worker.terminate_job(row.id + 1000, row.attempt)
        assert result.state != "REVOKED"
        assert worker.terminate_job(row.id, row.attempt, signal.SIGTERM)
        with pytest.raises(TaskRevokedError):
            result.get(timeout=TIMEOUT)
        assert after.get(timeout=TIMEOUT) == "ran"
        wait_for(lambda: not worker.terminate_job(row.id, row.attempt), "the end of the attempt")
