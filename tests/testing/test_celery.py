"""The test worker runs the tasks of a Celery application in the test's transaction."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from river_compat.celery import Celery
from river_compat.celery.command import build_worker
from river_core.ambient import join
from river_core.drivers.base import Driver
from river_core.testing import StubClock, TestWorker, require_inserted
from tests.conformance.applications import on
from tests.conformance.raw_connections import count_jobs


@pytest.fixture
def app(driver: Driver) -> Iterator[Celery]:
    """An application on River's database."""
    with Celery("testing", set_as_current=False, river_driver=driver) as made:
        yield made


@on("psycopg", "sqlite3")
def test_retries_run_without_sleeping(app: Celery, driver: Driver, application: Any) -> None:
    """The task, its retry in a minute and what it calls; then nothing is left."""
    ran: list[tuple[str, int]] = []

    @app.task(bind=True, name="shop.mail")
    def mail(self: Any, to: str) -> str:
        ran.append((to, self.request.retries))
        if self.request.retries < 2:
            raise self.retry(countdown=60)
        bill.delay(to)
        return f"mail to {to}"

    @app.task(name="shop.bill")
    def bill(to: str) -> None:
        ran.append((to, -1))

    clock = StubClock(datetime.now(UTC))  # the application's own clock goes on
    worker = TestWorker.of(build_worker(app), clock=clock)
    with join(application):
        mail.delay("ann")
    require_inserted(application, "python_task", task="shop.mail")
    clock.advance(1)
    assert [result.outcome for result in worker.drain(application)] == ["completed"]
    for _ in range(2):
        clock.advance(61)
        worker.drain(application)
    assert ran == [("ann", 0), ("ann", 1), ("ann", 2), ("ann", -1)]
    assert require_inserted(application, "python_task", task="shop.bill").state == "completed"
    application.rollback()
    assert count_jobs(driver) == 0
