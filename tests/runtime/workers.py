"""What the runtime tests share: a worker for a block, jobs, rows, and waiting for facts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.insert import EncodedArgs
from river_core.job import JobRow
from river_core.task import Job, Registry
from river_core.worker.config import WorkerConfig
from river_core.worker.events import Event, Subscription
from river_core.worker.internals import Internals
from river_core.worker.worker import Worker

DEADLINE = 60.0


def wait_for(fact: Callable[[], Any], what: str) -> Any:
    """Look every few milliseconds until `fact()` is true; fail by name after the deadline."""
    until = time.monotonic() + DEADLINE
    while time.monotonic() < until:
        if value := fact():
            return value
        time.sleep(0.005)  # looks again for a fact; nothing is assumed to have happened by then
    raise AssertionError(f"{what} did not happen within {DEADLINE:g} s")


def registry(**functions: Callable[[Job], Any]) -> Registry:
    """Tasks by kind."""
    tasks = Registry()
    for kind, function in functions.items():
        tasks.add(kind, function)
    return tasks


@contextmanager
def running(
    driver: Driver, tasks: Registry, *, claims: int | None = None, **options: Any
) -> Iterator[Worker]:
    """A started worker on queue `default` that is stopped, by interrupting if need be, at the end.

    It takes no more jobs after so many `claims` that brought any: what fails is tried again within a second,
    and a test that is to see how the first attempt ended may come later than that.
    """
    options.setdefault("queues", {"default": 4})
    options.setdefault("fetch_cooldown", 0.01)

    taken: list[Sequence[JobRow]] = []

    def count_claim(rows: Sequence[JobRow]) -> None:
        taken.append(rows)
        if len(taken) == claims:
            wait_for(lambda: worker.started, "the start of the worker")
            worker.request_stop()

    if claims is not None:
        options["internals"] = replace(options.get("internals", Internals()), claimed=count_claim)
    worker = Worker(driver, tasks, WorkerConfig(**options))
    worker.start()
    try:
        yield worker
    finally:
        worker.stop_and_cancel()


def insert(driver: Driver, kind: str, args: str = "{}", **options: Any) -> JobRow:
    """Insert one job as an insert-only client does."""
    return Client(driver).insert(EncodedArgs(kind, args), **options).job


def row(driver: Driver, job_id: int) -> JobRow:
    """The job as it is stored now."""
    return Client(driver).job_get(job_id)


def next_event(subscription: Subscription) -> Event:
    """The next event, or a failure after the deadline."""
    event = subscription.get(timeout=DEADLINE)
    assert event is not None, "no event came"
    return event


class Gate:
    """A task that says it began and then waits to be let go."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.release = threading.Event()

    def __call__(self, job: Job) -> None:
        """Begin, and wait."""
        self.began.set()
        assert self.release.wait(DEADLINE)
