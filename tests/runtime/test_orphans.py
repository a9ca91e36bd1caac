"""Rows that were claimed under a client's name without its knowledge do not stay running."""

from __future__ import annotations

from river_core.clock import SystemClock
from river_core.db import work
from river_core.drivers.base import Driver
from river_core.job import JobState
from river_core.worker.orphans import OrphanWatch
from tests.runtime.workers import insert, registry, row, running, wait_for

ME = "me_00000000_pyl"


def claim(driver: Driver, client_id: str) -> None:
    """Claim all rows, as a claim does whose answer is lost."""
    with driver.connect() as connection:
        connection.fetch(work.job_get_available(driver.sql, "default", client_id, 100))


def test_an_unknown_row_is_given_back_at_the_second_sight(driver: Driver) -> None:
    """Once is too early: the claim's answer may be on its way. Rows that are known here stay."""
    known, unknown = insert(driver, "k1"), insert(driver, "k1")
    claim(driver, ME)
    watch = OrphanWatch(driver, ME, lambda: {known.id}, SystemClock())
    watch.run_once()
    assert row(driver, unknown.id).state is JobState.RUNNING
    watch.run_once()
    after = row(driver, unknown.id)
    assert (after.state, after.attempt, after.errors) == (JobState.AVAILABLE, 0, [])
    assert row(driver, known.id).state is JobState.RUNNING


def test_rows_of_other_clients_are_not_looked_at(driver: Driver) -> None:
    """A name that only begins alike is another client."""
    theirs = insert(driver, "k1")
    claim(driver, ME + "x")
    watch = OrphanWatch(driver, ME, set, SystemClock())
    watch.run_once()
    watch.run_once()
    assert row(driver, theirs.id).state is JobState.RUNNING


def test_a_worker_runs_what_it_claimed_without_knowing(driver: Driver) -> None:
    """The whole way, in a real worker."""
    ran: list[int] = []
    with running(driver, registry(k1=lambda job: ran.append(job.row.id)), fetch_poll_interval=60.0) as worker:
        worker._parts.orphans._interval = 0.05  # type: ignore[union-attr]  # ten seconds otherwise
        worker._parts.orphans.wake()  # type: ignore[union-attr]
        lost = insert(driver, "k1", queue="elsewhere")
        with driver.connect() as connection:
            connection.fetch(work.job_get_available(driver.sql, "elsewhere", worker.id, 10))
        wait_for(lambda: row(driver, lost.id).state is JobState.AVAILABLE, "the row given back")
    assert ran == []
