"""What users of Celery run into, shown by workers on both databases."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from river_compat.celery import Celery, Task
from river_compat.celery.beat import Service
from river_compat.celery.command import WorkerOptions, build_worker
from river_core.drivers.base import Driver
from tests.runtime.celery.rows import rows_of
from tests.runtime.stored import FixedClock, run
from tests.runtime.workers import wait_for

ONE_BY_ONE = WorkerOptions(concurrency=1, pool="threads")
SENT = (5, 0, 9, 3, None)


@pytest.mark.parametrize(
    ("old", "first_to_last"),
    [("redis://old/0", [0, None, 5, 3, 9]), ("amqp://old//", [9, 5, 3, 0, None])],
)
def test_what_was_urgent_stays_urgent(driver: Driver, old: str, first_to_last: list[int | None]) -> None:
    """O05, row 9.7. The URL of the old broker says which end is first; 10 and -1 are errors.

    Redis has four lists, so that 5 and 3 are in the order in which they were sent, as the parity case
    `priority_unset` sees it on a real one.
    """
    app = Celery("urgent", broker=old, river_driver=driver, set_as_current=False)
    ran: list[Any] = []
    task = app.task(ran.append, name="note", shared=False)
    for priority in SENT:
        task.apply_async((priority,), priority=priority)
    for wrong in (10, -1):
        with pytest.raises(ValueError, match="from 0 to 9"):
            task.apply_async((wrong,), priority=wrong)
    worker = build_worker(app, ONE_BY_ONE)
    worker.start()
    try:
        wait_for(lambda: len(ran) >= len(SENT), "the last of them")
    finally:
        worker.stop_and_cancel()
        app.close()
    assert ran == first_to_last


class Tenant(Task[..., Any]):
    """A library's task: it adds an argument where it is sent and takes it off where it runs."""

    abstract = True

    def apply_async(self, args: Any = None, kwargs: Any = None, *rest: Any, **options: Any) -> Any:
        return super().apply_async(args, {**(kwargs or {}), "tenant": "t1"}, *rest, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return [kwargs.pop("tenant", None), super().__call__(*args, **kwargs)]


@pytest.mark.parametrize("given", ["task_cls", "Task"])
def test_a_beat_sends_through_the_task_class_of_a_library(driver: Driver, given: str) -> None:
    """O22, row 1.22. What its `apply_async` adds is in the row, and its `__call__` takes it off again."""
    options = {"task_cls": Tenant} if given == "task_cls" else {}
    app = Celery("tenants", river_driver=driver, set_as_current=False, **options)
    if given == "Task":
        app.Task = Tenant
    app.task(lambda x: x, name="tick", shared=False, typing=False)
    clock = FixedClock(datetime(2026, 8, 7, 14, 30, tzinfo=UTC))
    app.now = lambda: clock.now().astimezone(app.timezone)  # type: ignore[method-assign]
    app.conf.beat_schedule = {"often": {"task": "tick", "schedule": 10, "args": (7,)}}
    beat = Service(app).scheduler
    beat.tick()
    clock.move(10)
    while beat.tick() <= 0:
        pass
    [(task_id,)] = run(driver, TASK_IDS[type(driver).__name__.startswith("Sqlite")])
    [row] = rows_of(app, task_id)
    assert json.loads(row.args["task"]["body"])[:2] == [[7], {"tenant": "t1"}]
    worker = build_worker(app, ONE_BY_ONE)
    worker.start()
    try:
        assert app.AsyncResult(task_id).get(timeout=20) == ["t1", 7]
    finally:
        worker.stop_and_cancel()
        app.close()


TASK_IDS = (
    "SELECT args->'task'->>'id' FROM river_job WHERE kind = 'python_task'",
    "SELECT json_extract(json(args), '$.task.id') FROM river_job WHERE kind = 'python_task'",
)
