"""Workers without notifications: they start where nothing can be heard, and find their jobs by themselves."""

from __future__ import annotations

import time

import pytest

from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.drivers.psycopg import PsycopgDriver
from river_core.errors import DatabaseError
from river_core.job import JobState
from tests.runtime.stored import run
from tests.runtime.workers import DEADLINE, Gate, insert, registry, row, running, wait_for

NOWHERE = "postgresql://127.0.0.1:1/nothing"


@pytest.fixture
def work() -> Gate:
    """A task that ends at once and says that it began."""
    gate = Gate()
    gate.release.set()
    return gate


@pytest.fixture
def deaf(driver: Driver, database_url: str) -> Driver:
    """A driver that cannot listen: the direct address leads nowhere, or the outbox is gone."""
    if driver.sql.dialect is Dialect.POSTGRES:
        return PsycopgDriver(database_url, listen_url=NOWHERE)
    run(driver, "DROP TABLE river_notification")
    return driver


def test_a_start_that_cannot_listen_fails_and_poll_only_starts(deaf: Driver, work: Gate) -> None:
    """O29. Checklist 55. The first one says so and leaves nothing running; the other works jobs."""
    with pytest.raises(DatabaseError), running(deaf, registry(work=work)):
        raise AssertionError("it started")
    if deaf.sql.dialect is Dialect.SQLITE:
        run(deaf, "CREATE TABLE river_notification (id integer PRIMARY KEY, created_at, topic, payload)")
    with running(deaf, registry(work=work), poll_only=True):
        job = insert(deaf, "work")
        wait_for(lambda: row(deaf, job.id).state is JobState.COMPLETED, "the job")
    deaf.close()


def test_a_job_starts_within_the_poll_interval_without_notifications(driver: Driver, work: Gate) -> None:
    """O29. Checklist 63. Nobody tells a poll-only worker; ten looks were missed before this fails."""
    interval = 0.1
    with running(driver, registry(work=work), poll_only=True, fetch_poll_interval=interval):
        for _ in range(3):
            work.began.clear()
            inserted = time.monotonic()
            insert(driver, "work")
            assert work.began.wait(DEADLINE)
            assert time.monotonic() - inserted < 10 * interval * 1.1
