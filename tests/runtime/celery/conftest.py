"""An application on a database of the test's own, and a real worker for it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from river_compat.celery import Celery, _state
from river_compat.celery.command import WorkerOptions, build_worker
from river_core.drivers.base import Driver
from river_core.worker.worker import Worker

Working = Callable[..., AbstractContextManager[Worker]]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep shared tasks of a test from the applications of others, which live as long as their modules."""
    monkeypatch.setattr(_state._apps, "all", weakref.WeakSet())
    with _state.kept_applications():
        yield


@pytest.fixture
def app(driver: Driver) -> Iterator[Celery]:
    """An application on Postgres and on SQLite."""
    app = Celery("runtime", set_as_current=False, river_driver=driver)
    yield app
    app.close()


@pytest.fixture
def working(app: Celery) -> Working:
    """Start a worker of the application for a block."""

    @contextmanager
    def start(**options: Any) -> Iterator[Worker]:
        options.setdefault("concurrency", 4)
        options.setdefault("pool", "threads")
        worker = build_worker(app, WorkerOptions(**options))
        worker.start()
        try:
            yield worker
        finally:
            worker.stop_and_cancel()

    return start
