"""The scheduler promotes what falls due and lets one job a unique key survive."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

import pytest

from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.worker.maintenance.scheduler import Scheduler
from tests.runtime.stored import NOW, FixedClock, put, read, run, states

KEY = b"0123456789abcdef0123456789abcdef"
AVAILABLE, CANCELLED, COMPLETED, DISCARDED, PENDING, RETRYABLE, RUNNING, SCHEDULED = (
    1 << bit for bit in range(8)
)
DEFAULT = AVAILABLE | COMPLETED | PENDING | RETRYABLE | RUNNING | SCHEDULED
WITHOUT_RETRYABLE = DEFAULT & ~RETRYABLE


class Announced:
    """Remembers the queues that the scheduler announces."""

    def __init__(self) -> None:
        self.queues: list[str] = []

    def __call__(self, queues: Collection[str]) -> Collection[str]:
        self.queues.extend(queues)
        return queues


def schedule(driver: Driver, **options: Any) -> None:
    Scheduler(driver, clock=FixedClock(), **options).run_once()


def waiting(driver: Driver, seconds: float = -60, **columns: Any) -> int:
    """A retryable row due `seconds` from now."""
    defaults = {"state": "retryable", "attempt": 1, "scheduled_at": NOW + timedelta(seconds=seconds)}
    return put(driver, **(defaults | columns))


def unique(driver: Driver, states: int, **columns: Any) -> int:
    return waiting(driver, unique_key=KEY, unique_states=states, **columns)


def test_promotes_what_falls_due_within_one_interval(driver: Driver) -> None:
    """Due rows and those due within 5 s become available with their time unchanged; later ones wait.

    Checklist 132.
    """
    ids = [waiting(driver, -3600), waiting(driver, 4.9, state="scheduled"), waiting(driver, 5.1)]
    schedule(driver)
    assert states(driver, *ids) == ["available", "available", "retryable"]
    assert read(driver, ids[1]).scheduled_at == NOW + timedelta(seconds=4.9)


def test_leaves_other_states_alone(driver: Driver) -> None:
    """Checklist 23. Pending, available and finished rows stay as they are, however old."""
    old = NOW - timedelta(days=1)
    ids = [put(driver, state="pending", scheduled_at=old), put(driver, state="cancelled", finalized_at=old)]
    schedule(driver)
    assert states(driver, *ids) == ["pending", "cancelled"]


def test_announces_only_queues_in_which_a_job_can_start(driver: Driver) -> None:
    """Checklist 132. A promotion ahead of time wakes nobody."""
    waiting(driver, -1, queue="now")
    waiting(driver, -2, queue="now")
    waiting(driver, 4, queue="soon")
    announced = Announced()
    schedule(driver, allow=announced)
    assert announced.queues == ["now"]


def test_announcement_reaches_the_notification_topic(driver: Driver) -> None:
    """Checklist 132. Each announced queue is one notification of river_insert."""
    waiting(driver, -1, queue="now")
    listener = driver.listen(["river_insert"])
    try:
        schedule(driver)
        [heard] = listener.wait(60)
    finally:
        listener.close()
    assert (heard.topic, heard.payload) == ("river_insert", '{"queue":"now"}')


def test_goes_on_until_a_batch_is_not_full(driver: Driver) -> None:
    """One pass promotes everything, batch by batch."""
    ids = [waiting(driver) for _ in range(5)]
    scheduler = Scheduler(driver, clock=FixedClock(), batch_rows=2)
    scheduler.batch_pause = (0, 0)
    scheduler.run_once()
    assert states(driver, *ids) == ["available"] * 5


def test_two_retryable_rows_of_one_key(driver: Driver) -> None:
    """The first in order of priority, time and id survives; the other says why it was discarded.

    Checklist 133.
    """
    late = unique(driver, WITHOUT_RETRYABLE, priority=2)
    first = unique(driver, WITHOUT_RETRYABLE, metadata={"kept": 1})
    schedule(driver)
    assert states(driver, first, late) == ["available", "discarded"]
    loser = read(driver, late)
    assert loser.finalized_at == NOW
    assert loser.metadata == {"unique_key_conflict": "scheduler_discarded"}


def test_the_row_that_holds_the_key_wins(driver: Driver) -> None:
    """Checklist 133. A scheduled row in its mask beats a retryable one outside it, whatever their order."""
    outside = unique(driver, WITHOUT_RETRYABLE, priority=1)
    holder = unique(driver, WITHOUT_RETRYABLE, state="scheduled", priority=4)
    schedule(driver)
    assert states(driver, outside, holder) == ["discarded", "available"]


def test_a_holder_outside_the_batch_wins(driver: Driver) -> None:
    """Checklist 133. A running job of the key discards what would become available beside it."""
    running = put(driver, state="running", attempt=1, unique_key=KEY, unique_states=DEFAULT)
    loser = unique(driver, WITHOUT_RETRYABLE, metadata={"number": 12345678901234567890123})
    schedule(driver)
    assert states(driver, running, loser) == ["running", "discarded"]
    assert read(driver, loser).metadata == {
        "number": 12345678901234567890123,
        "unique_key_conflict": "scheduler_discarded",
    }


def test_a_row_that_even_discarded_would_break_the_key_is_put_off(driver: Driver) -> None:
    """It stays retryable and is looked at again a minute later."""
    put(driver, state="running", attempt=1, unique_key=KEY, unique_states=DEFAULT)
    loser = unique(driver, WITHOUT_RETRYABLE | DISCARDED)
    schedule(driver)
    row = read(driver, loser)
    assert (row.state, row.finalized_at, row.metadata) == ("retryable", None, {})
    assert row.scheduled_at == NOW + timedelta(seconds=60)


def test_different_keys_do_not_compete(driver: Driver) -> None:
    """Each key has its own winner, and a row without states takes no part."""
    ids = [
        unique(driver, WITHOUT_RETRYABLE),
        waiting(driver, unique_key=b"another key", unique_states=WITHOUT_RETRYABLE),
        waiting(driver),
    ]
    schedule(driver)
    assert states(driver, *ids) == ["available"] * 3


@pytest.mark.parametrize("held", ["completed", "cancelled"])
def test_a_finished_row_holds_the_key_only_within_its_mask(driver: Driver, held: str) -> None:
    """By default a completed row holds its key and a cancelled one does not."""
    put(driver, state=held, finalized_at=NOW, unique_key=KEY, unique_states=DEFAULT)
    row = unique(driver, WITHOUT_RETRYABLE)
    schedule(driver)
    assert states(driver, row) == ["discarded" if held == "completed" else "available"]


def test_conflicts_are_found_through_the_unique_index(sqlite_driver: Driver) -> None:
    """SQLite looks a holder up by its key instead of reading the table."""
    sql = sqlite_driver.sql
    statement = sql.statement("job_schedule", horizon=sql.time(NOW), limit=1, now=None)
    assert sql.dialect is Dialect.SQLITE
    plan = run(sqlite_driver, f"EXPLAIN QUERY PLAN {statement.sql}", **dict(statement.parameters))
    assert any("river_job_unique_idx (unique_key=?)" in step[3] for step in plan), plan
