"""The cleaners delete what is old enough, and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.errors import ConfigurationError, OperationalError
from river_core.task import Registry
from river_core.worker.maintenance.group import MaintenanceServices
from river_core.worker.maintenance.job_cleaner import FOREVER, JobCleaner, Retention
from river_core.worker.maintenance.notification_cleaner import NotificationCleaner
from river_core.worker.maintenance.queue_cleaner import QueueCleaner
from river_core.worker.maintenance.service import BatchSize
from tests.runtime.stored import NOW, FixedClock, put, run, states

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


def finished(driver: Driver, state: str, age: timedelta) -> int:
    return put(driver, state=state, finalized_at=NOW - age)


def clean(driver: Driver, retention: Retention | None = None) -> None:
    JobCleaner(driver, retention, clock=FixedClock()).run_once()


def test_keeps_each_state_for_its_time(driver: Driver) -> None:
    """Checklist 139. A day for cancelled and completed jobs, a week for discarded ones."""
    young = [finished(driver, state, DAY - SECOND) for state in ("cancelled", "completed", "discarded")]
    old = [finished(driver, state, DAY + SECOND) for state in ("cancelled", "completed", "discarded")]
    ancient = finished(driver, "discarded", 7 * DAY + SECOND)
    clean(driver)
    assert states(driver, *young) == ["cancelled", "completed", "discarded"]
    assert states(driver, *old, ancient) == ["gone", "gone", "discarded", "gone"]


@pytest.mark.parametrize("forever", [None, FOREVER])
def test_keeps_a_state_forever_when_told(driver: Driver, forever: int | None) -> None:
    """Checklist 139. -1 or None keeps one state, and does not keep the others."""
    kept = finished(driver, "completed", 999 * DAY)
    deleted = finished(driver, "discarded", 2 * SECOND)
    clean(driver, Retention(completed=forever, discarded=1))
    assert states(driver, kept, deleted) == ["completed", "gone"]


def test_keeps_everything_when_told() -> None:
    """Checklist 139. All three forever need no query at all."""
    assert Retention(None, FOREVER, None).keeps_all
    assert not Retention(None, 0, None).keeps_all


def test_never_touches_what_is_not_finished(driver: Driver) -> None:
    """Checklist 139. However old it is."""
    unfinished = ("available", "pending", "retryable", "running", "scheduled")
    old = NOW - 999 * DAY
    ids = [
        put(driver, state=state, created_at=old, scheduled_at=old, attempted_at=old) for state in unfinished
    ]
    clean(driver, Retention(0, 0, 0))
    assert states(driver, *ids) == list(unfinished)


def test_deletes_in_batches(driver: Driver) -> None:
    """Checklist 139. One pass deletes everything, batch by batch."""
    ids = [finished(driver, "completed", 2 * DAY) for _ in range(5)]
    cleaner = JobCleaner(driver, clock=FixedClock(), batch_rows=2)
    cleaner.batch_pause = (0, 0)
    cleaner.run_once()
    assert states(driver, *ids) == ["gone"] * 5


def test_refuses_a_negative_retention() -> None:
    """The error names the state and the value."""
    with pytest.raises(ConfigurationError, match=r"completed jobs .* not -2"):
        Retention(completed=-2)


def test_queue_cleaner_deletes_idle_queues_only(driver: Driver) -> None:
    """Checklist 140. A queue that was reported within a day stays, paused or not."""
    cast = "::text::timestamptz" if driver.sql.dialect is Dialect.POSTGRES else ""
    metadata = "'{}'" if driver.sql.dialect is Dialect.POSTGRES else "jsonb('{}')"
    columns, values = "name, created_at, metadata, updated_at", f"@name, @at{cast}, {metadata}, @at{cast}"
    insert = f"INSERT INTO river_queue ({columns}) VALUES ({values})"
    for name, age in (("idle", DAY + SECOND), ("busy", DAY - SECOND)):
        run(driver, insert, name=name, at=driver.sql.time(NOW - age))
    QueueCleaner(driver, clock=FixedClock()).run_once()
    assert [row[0] for row in run(driver, "SELECT name FROM river_queue")] == ["busy"]


def test_notification_cleaner_deletes_old_rows_only(sqlite_driver: Driver) -> None:
    """Checklist 145. Five minutes is longer than any listener needs."""
    insert = "INSERT INTO river_notification (created_at, payload, topic) VALUES (@at, '{}', @topic)"
    for topic, age in (("old", 301), ("new", 299)):
        run(sqlite_driver, insert, topic=topic, at=sqlite_driver.sql.time(NOW - timedelta(seconds=age)))
    NotificationCleaner(sqlite_driver, clock=FixedClock()).run_once()
    assert [row[0] for row in run(sqlite_driver, "SELECT topic FROM river_notification")] == ["new"]


def test_only_sqlite_has_an_outbox_to_clean(driver: Driver) -> None:
    """Checklist 145. The leader's services differ in that one."""
    services = MaintenanceServices(driver, Registry()).services
    cleaners = [service for service in services if isinstance(service, NotificationCleaner)]
    assert len(cleaners) == (driver.sql.dialect is Dialect.SQLITE)


@pytest.mark.postgres
def test_a_statement_that_takes_too_long_is_ended(postgres_driver: Driver) -> None:
    """The server ends it, the row stays, and the time-out is counted for smaller batches."""
    row = finished(postgres_driver, "completed", 2 * DAY)
    cleaner = JobCleaner(postgres_driver, timeout=1.0, clock=FixedClock())
    with postgres_driver.connect() as other, other.transaction():
        other.run_script("LOCK TABLE river_job IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(OperationalError, match="statement timeout"):
            cleaner.run_once()
    cleaner.run_once()
    assert states(postgres_driver, row) == ["gone"]


def test_three_time_outs_in_a_row_make_batches_smaller_for_good() -> None:
    """Within ten minutes of each other and with no success between."""
    size = BatchSize()
    size.timed_out(0)
    size.timed_out(1)
    size.succeeded()
    size.timed_out(2)
    size.timed_out(3)
    size.timed_out(700)
    assert size.rows == 10_000
    size.timed_out(701)
    size.timed_out(702)
    assert size.rows == 1_000
    size.succeeded()
    assert size.rows == 1_000
