"""A worker that lost the connection on which it hears notifications."""

from __future__ import annotations

import psycopg
import pytest

from river_core import Client
from river_core.db.statement import Dialect, Statement
from river_core.drivers.base import Driver
from river_core.errors import OperationalError
from river_core.worker import attendant
from river_core.worker.parts import LOCK_PAUSE_SECONDS
from river_core.worker.worker import Worker
from tests.runtime.workers import Gate, insert, next_event, registry, row, running, wait_for

NEVER = 3600.0


def lose_connection(worker: Worker, database_url: str) -> object:
    """End the worker's listening session, and return the listener that had it."""
    assert worker._parts is not None
    assert worker._parts.notifier is not None
    lost = worker._parts.notifier._listener
    assert lost is not None
    if worker.driver.sql.dialect is Dialect.POSTGRES:
        pid = lost.fetch(Statement("pid", "SELECT pg_backend_pid()", {}))[0][0]
        with psycopg.connect(database_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
    else:
        lost.close()
    return lost


def listener_of(worker: Worker) -> object:
    """The listener that the worker has now."""
    assert worker._parts is not None
    assert worker._parts.notifier is not None
    return worker._parts.notifier._listener


def test_what_was_missed_is_looked_up(
    driver: Driver, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checklist 54. A pause, a cancellation and a job, none of which was heard or is polled."""
    monkeypatch.setattr(attendant, "CONTROL_POLL_SECONDS", NEVER)
    gate = Gate()
    client = Client(driver)
    queues = {"default": 1, "mail": 1}
    tasks = registry(gated=gate, quick=lambda job: None)
    with running(driver, tasks, queues=queues, fetch_poll_interval=NEVER) as worker:
        events = worker.events.subscribe()
        held = insert(driver, "gated")
        wait_for(gate.began.is_set, "the start of the job")
        reconnect = worker._parts.notifier._connect  # type: ignore[union-attr] # it has started
        missed: list[int] = []

        def connect_later() -> None:
            if not missed:
                client.queue_pause("mail")
                client.job_cancel(held.id)
                missed.append(insert(driver, "quick", queue="default").id)
            reconnect()

        monkeypatch.setattr(worker._parts.notifier, "_connect", connect_later)  # type: ignore[union-attr]
        lost = lose_connection(worker, database_url)
        assert next_event(events).kind == "queue_paused"
        wait_for(lambda: worker._parts and cancelled(worker, held.id), "the cancellation")
        gate.release.set()
        done = [next_event(events), next_event(events)]
        assert {event.job.id for event in done if event.job} == {held.id, missed[0]}
        assert listener_of(worker) is not lost
        client.queue_resume("mail")
        assert next_event(events).kind == "queue_resumed"
    assert row(driver, missed[0]).attempt == 1


def test_a_worker_asks_each_second_whether_the_database_is_back(
    driver: Driver, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It claims nothing without its lock: a long outage must not be followed by a long pause of its own."""
    away = 4
    pauses: list[float] = []
    with running(driver, registry(quick=lambda job: None)) as worker:
        assert worker._parts is not None
        notifier = worker._parts.notifier
        assert notifier is not None
        reconnect, wait = notifier._connect, notifier.wait

        def connect_later() -> None:
            if len(pauses) <= away:
                raise OperationalError("the database is away")
            reconnect()

        def noted(seconds: float) -> bool:
            if notifier._listener is None:
                pauses.append(seconds)
            return wait(seconds)

        monkeypatch.setattr(notifier, "_connect", connect_later)
        monkeypatch.setattr(notifier, "wait", noted)
        lose_connection(worker, database_url)
        wait_for(lambda: len(pauses) > away and listener_of(worker) is not None, "the new listener")
        events = worker.events.subscribe()
        insert(driver, "quick")
        assert next_event(events).kind == "job_completed"
    assert len(pauses) == away + 1
    assert all(seconds <= LOCK_PAUSE_SECONDS for seconds in pauses), pauses


def cancelled(worker: Worker, job_id: int) -> bool:
    """Whether a running job was told that it is cancelled."""
    assert worker._parts is not None
    found = [slots._running.get(job_id) for slots in worker._parts.slots]
    return any(item is not None and item.job.stopped for item in found)
