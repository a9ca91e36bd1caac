"""Short jobs may be claimed before a thread is free; nothing else may, and nothing waits long."""

from __future__ import annotations

import threading
from typing import Any

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.insert import EncodedArgs, InsertManyParams, InsertOpts
from river_core.job import JobState
from river_core.worker.ahead import MAX_AHEAD, MIN_SAMPLES, WORK_SECONDS, AheadBudget
from river_core.worker.events import EventKind
from tests.runtime.test_completer import Watched
from tests.runtime.workers import DEADLINE, Gate, insert, next_event, registry, row, running, wait_for

QUICK = 300


def insert_quick(driver: Driver, count: int = QUICK) -> None:
    """Insert many jobs that do nothing."""
    Client(driver).insert_many([InsertManyParams(EncodedArgs("quick", "{}"), InsertOpts())] * count)


def ahead(driver: Driver, **options: Any) -> Any:
    """A worker with one slot that may claim ahead."""
    gate = options.pop("gate", None) or Gate()
    tasks = registry(quick=lambda job: None, gated=gate)
    return running(driver, tasks, queues={"default": 1}, claim_ahead=True, fetch_cooldown=0.001, **options)


def earn(driver: Driver, worker: Any) -> None:
    """Run quick jobs until waiting is allowed: on a busy machine one of the last may have been slow."""
    [slots] = worker._parts.slots
    while True:
        events = worker.events.subscribe(EventKind.JOB_COMPLETED, size=10 * QUICK)
        insert_quick(driver)
        for _ in range(QUICK):
            next_event(events)
        events.close()
        if slots._ahead is None or slots._ahead.jobs(1):
            return


def test_the_budget_is_earned_by_quick_jobs_and_lost_by_a_slow_one() -> None:
    """Nothing at first; 50 ms of work later, at most 500; nothing again after one slow job."""
    budget = AheadBudget()
    assert budget.jobs(10) == 0
    for _ in range(10 * MIN_SAMPLES):
        budget.ran(0.001)
    assert 0 < budget.jobs(2) <= 2 * WORK_SECONDS / 0.001 * 1.01
    assert budget.jobs(1000) == MAX_AHEAD
    budget.ran(WORK_SECONDS * 2)
    assert budget.jobs(1000) == 0


def test_quick_jobs_need_far_fewer_claims_than_jobs(driver: Driver) -> None:
    """One slot works 300 jobs with a claim for many of them at a time."""
    watched = Watched(driver)
    with ahead(watched) as worker:
        earn(driver, worker)
        first = watched.names["job_get_available"]
        earn(driver, worker)
        assert watched.names["job_get_available"] - first < QUICK / 3


def test_an_idle_worker_looks_once_for_a_job(driver: Driver) -> None:
    """A look for any job that leaves a slot free is followed by no second one."""
    watched, tasks = Watched(driver), registry(quick=lambda job: None)
    options = {"claim_ahead": True, "fetch_cooldown": 0.001, "fetch_poll_interval": DEADLINE * 2}
    with running(watched, tasks, queues={"default": 2}, **options) as worker:
        earn(driver, worker)
        producer = worker._parts.producers["default"]
        wait_for(lambda: producer._found_all, "a look that found all")
        [slots] = worker._parts.slots
        before = watched.names["job_get_available"]
        for _ in range(2):
            wait_for(lambda: not slots._running, "an idle worker")
            events = worker.events.subscribe(EventKind.JOB_COMPLETED, size=10)
            Client(driver).insert(EncodedArgs("quick", "{}"))
            next_event(events)
            events.close()
        assert watched.names["job_get_available"] == before + 2


def test_without_claiming_ahead_no_row_is_claimed_for_a_busy_slot(driver: Driver) -> None:
    """Checklist 62. River's own rule, and the default of native workers."""
    gate = Gate()
    with running(driver, registry(quick=lambda job: None, gated=gate), queues={"default": 1}) as worker:
        earn(driver, worker)
        insert(driver, "gated")
        assert gate.began.wait(DEADLINE)
        waiting = insert(driver, "quick")
        stopper = threading.Thread(target=worker.stop)
        stopper.start()
        gate.release.set()
        stopper.join(DEADLINE)
    assert row(driver, waiting.id).attempted_by == []


def test_a_job_that_may_run_only_once_is_never_claimed_ahead(driver: Driver) -> None:
    """Its only attempt must not be spent on waiting."""
    gate = Gate()
    with ahead(driver, gate=gate) as worker:
        earn(driver, worker)
        insert(driver, "gated")
        assert gate.began.wait(DEADLINE)
        once = insert(driver, "quick", max_attempts=1)
        again = insert(driver, "quick")
        wait_for(lambda: row(driver, again.id).attempted_by, "the claim of the job that may run again")
        assert row(driver, once.id).attempted_by == []
        gate.release.set()
        wait_for(lambda: row(driver, once.id).state is JobState.COMPLETED, "its turn")


def test_a_slow_job_does_not_hold_claimed_ones_while_another_worker_is_idle(driver: Driver) -> None:
    """They are given back, attempt and place restored, and the idle worker runs them."""
    gate = Gate()
    with ahead(driver, gate=gate) as busy:
        earn(driver, busy)
        insert(driver, "gated")
        assert gate.began.wait(DEADLINE)
        waiting = insert(driver, "quick")
        wait_for(lambda: row(driver, waiting.id).attempted_by, "the claim ahead")
        with running(driver, registry(quick=lambda job: None)) as idle:
            wait_for(lambda: row(driver, waiting.id).state is JobState.COMPLETED, "the run elsewhere")
            after = row(driver, waiting.id)
            assert (after.attempt, after.attempted_by[-1]) == (1, idle.id)
            assert after.scheduled_at == waiting.scheduled_at
        gate.release.set()


def test_a_stop_gives_back_what_has_not_started(driver: Driver) -> None:
    """Only the running job is waited for."""
    gate = Gate()
    with ahead(driver, gate=gate) as worker:
        earn(driver, worker)
        insert(driver, "gated")
        assert gate.began.wait(DEADLINE)
        insert_quick(driver, 20)
        wait_for(lambda: worker.active > 1, "the claim ahead")
        stopper = threading.Thread(target=worker.stop)
        stopper.start()
        ids = range(row_id(driver) - 19, row_id(driver) + 1)
        wait_for(
            lambda: worker.active == 1 and all(is_untouched(driver, item) for item in ids),
            "all rows given back",
        )
        gate.release.set()
        stopper.join(DEADLINE)


def row_id(driver: Driver) -> int:
    """The newest row's id."""
    from river_core.db.statement import Statement

    with driver.connect() as connection:
        return int(connection.fetch(Statement("newest", "SELECT max(id) FROM river_job", {}))[0][0])


def is_untouched(driver: Driver, job_id: int) -> bool:
    """Whether a row is as if it had never been claimed; one claim may still cross the pause."""
    found = row(driver, job_id)
    return found.state is JobState.AVAILABLE and found.attempt == 0


def test_a_pause_gives_back_what_has_not_started(driver: Driver) -> None:
    """A paused queue starts nothing new."""
    gate = Gate()
    with ahead(driver, gate=gate) as worker:
        earn(driver, worker)
        insert(driver, "gated")
        assert gate.began.wait(DEADLINE)
        waiting = insert(driver, "quick")
        wait_for(lambda: row(driver, waiting.id).attempted_by, "the claim ahead")
        Client(driver).queue_pause("default")
        wait_for(lambda: worker.active == 1 and is_untouched(driver, waiting.id), "the row given back")
        gate.release.set()
        events = worker.events.subscribe(EventKind.JOB_COMPLETED)
        Client(driver).queue_resume("default")
        event = next_event(events)
        while event.job is None or event.job.id != waiting.id:
            event = next_event(events)
