"""What runs beside a worker: it hears topics, sees claimed rows first, and lives as long as the worker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from river_core import Admitted, Cancelled, Companion, ConfigurationError, JobRow, JobState, Snoozed
from river_core.db import notifications
from river_core.drivers.base import Driver
from river_core.notifier import Payload
from tests.runtime.workers import DEADLINE, Gate, insert, registry, row, running, wait_for


class Beside(Companion):
    """Notes what happens to it, and refuses what `refuse` names."""

    def __init__(self, refuse: Mapping[str, Any] | None = None) -> None:
        super().__init__("test-companion")
        self.refuse = dict(refuse or {})
        self.log: list[str] = []
        self.heard: list[Payload] = []
        self.fails = False

    def topics(self) -> Mapping[str, Callable[[Payload], None]]:
        return {"river_test": self.heard.append}

    def before_claims(self) -> None:
        self.log.append("before claims")

    def on_stop(self) -> None:
        self.log.append("stopped")

    def run_once(self) -> None:
        self.log.append("turn")

    def admit(self, rows: Sequence[JobRow]) -> Admitted:
        if self.fails:
            self.fails = False
            raise ValueError("cannot say")
        refused = [(item, self.refuse[item.kind]) for item in rows if item.kind in self.refuse]
        return [item for item in rows if item.kind not in self.refuse], refused


def test_a_companion_lives_as_long_as_its_worker(driver: Driver) -> None:
    """It is ready before anything is claimed, knows its worker, and hears its topics."""
    beside = Beside()
    with running(driver, registry(known=lambda _: None), companions=[beside]) as worker:
        assert beside.worker is worker
        with driver.connect() as connection:
            connection.fetch(notifications.notify_many(driver.sql, "river_test", ['{"n": 1}']))
        wait_for(lambda: beside.heard == [{"n": 1}], "the notification")
    assert [beside.log[0], beside.log[-1]] == ["before claims", "stopped"]


def test_rows_that_are_refused_never_run_and_hold_no_place(driver: Driver) -> None:
    """Each ends as was said, and what is claimed with it runs."""
    ran: list[str] = []
    beside = Beside({"later": Snoozed(3600), "never": Cancelled("not wanted")})
    functions = {kind: lambda job: ran.append(job.row.kind) for kind in ("later", "never", "known")}
    ids = [insert(driver, kind).id for kind in ("later", "never", "later", "known")]
    with running(driver, registry(**functions), companions=[beside], queues={"default": 2}):
        wait_for(lambda: row(driver, ids[3]).state is JobState.COMPLETED, "the row behind them")
        wait_for(lambda: row(driver, ids[1]).state is JobState.CANCELLED, "the cancelled row")
        wait_for(lambda: row(driver, ids[2]).state is JobState.SCHEDULED, "the snoozed row")
    assert ran == ["known"]
    assert [row(driver, job_id).attempt for job_id in ids] == [0, 1, 0, 1]


def test_rows_go_back_when_a_companion_cannot_say(driver: Driver) -> None:
    """Nothing is lost, and no attempt is spent."""
    beside = Beside()
    beside.fails = True
    job_id = insert(driver, "known").id
    with running(driver, registry(known=lambda _: None), companions=[beside]):
        wait_for(lambda: row(driver, job_id).state is JobState.COMPLETED, "the second claim")
    assert row(driver, job_id).attempt == 1


def test_a_worker_tells_what_is_here_and_can_be_resized(driver: Driver) -> None:
    """Jobs with their process, and how many may run at once."""
    gates = [Gate() for _ in range(3)]
    waiting = iter(gates)
    lock = threading.Lock()

    def hold(job: Any) -> None:
        with lock:
            gate = next(waiting)
        gate(job)

    ids = [insert(driver, "known").id for _ in gates]
    with running(driver, registry(known=hold), max_workers=1) as worker:
        assert gates[0].began.wait(DEADLINE)
        assert worker.size == 1
        [here] = worker.jobs_here()
        assert (here.row.id, here.started, here.pid) == (ids[0], True, worker.pids[0])
        worker.resize(3)
        assert all(gate.began.wait(DEADLINE) for gate in gates)
        assert [item.row.id for item in worker.jobs_here()] == ids
        with pytest.raises(ConfigurationError, match="1 to 10000"):
            worker.resize(0)
        for gate in gates:
            gate.release.set()
        wait_for(lambda: not worker.active, "the end of all three")


def test_a_worker_with_slots_by_queue_is_not_resized(driver: Driver) -> None:
    """There is no one number."""
    with (
        running(driver, registry(known=lambda _: None)) as worker,
        pytest.raises(ConfigurationError, match="max_workers"),
    ):
        worker.resize(3)
