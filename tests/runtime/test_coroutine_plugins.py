"""Plugins around coroutine tasks: in River's order, beside the loop, without a thread where they allow it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from river_core import FinalizeAction, PersistedLogs, Plugin
from river_core.drivers.base import Driver
from river_core.errors import JobCancelError, JobTimeoutError
from river_core.job import JobState
from river_core.outcome import Completed, Outcome
from river_core.plugins import AwaitedWorkOperation
from river_core.task import Job, Registry, Task
from river_core.worker.events import EventKind
from tests.runtime.test_coroutines import LOOP_THREAD, Limited, Waiting, worked
from tests.runtime.test_plugins import Recorder
from tests.runtime.workers import DEADLINE, insert, next_event, registry, row, running, wait_for

TENANT: ContextVar[str] = ContextVar("tenant", default="none")


class AwaitedRecorder(Recorder):
    """Notes calls of both colours."""

    async def work_awaited(self, job: Job, operation: AwaitedWorkOperation) -> Outcome | None:
        self.calls.append(f"{self.name} before, awaited")
        try:
            return await operation()
        finally:
            self.calls.append(f"{self.name} after, awaited")


class Hooks(Plugin):
    """Notes the threads of its hooks, which set and read a context variable."""

    def __init__(self) -> None:
        self.threads: list[str] = []
        self.seen: list[str] = []
        self.errors: list[BaseException | None] = []

    def work_begin(self, job: Job) -> None:
        self.threads.append(threading.current_thread().name)
        TENANT.set("one")

    def work_end(self, job: Job, error: BaseException | None) -> BaseException | None:
        self.threads.append(threading.current_thread().name)
        self.seen.append(TENANT.get())
        self.errors.append(error)
        return error


INNER = ["A begin", "B begin", "task", "A end", "B end"]


def test_order_where_a_plugin_blocks(driver: Driver) -> None:
    """Checklist 121. One plugin that has `work` alone makes all of them surround as in a thread."""
    calls: list[str] = []

    async def task(job: Job) -> None:
        await asyncio.sleep(0)
        calls.append("task")

    kind, _ = worked(driver, task, plugins=(AwaitedRecorder("A", calls), Recorder("B", calls)))
    assert kind is EventKind.JOB_COMPLETED
    assert calls == ["A before", "B before", *INNER, "B after", "A after"]


def test_order_where_none_blocks(driver: Driver) -> None:
    """Checklist 121. The same order, awaited; no thread waits meanwhile."""
    calls: list[str] = []

    async def task(job: Job) -> None:
        await asyncio.sleep(0)
        calls.append("task")

    kind, _ = worked(driver, task, plugins=(AwaitedRecorder("A", calls), AwaitedRecorder("B", calls)))
    assert kind is EventKind.JOB_COMPLETED
    assert calls == [
        *("A before, awaited", "B before, awaited"),
        *INNER,
        *("B after, awaited", "A after, awaited"),
    ]


def test_an_awaitable_that_was_not_foretold_is_surrounded_as_in_a_thread(driver: Driver) -> None:
    """Nobody could know before the plugins began; the thread waits."""
    calls: list[str] = []

    async def later() -> None:
        calls.append(threading.current_thread().name)

    kind, _ = worked(driver, lambda job: later(), plugins=(AwaitedRecorder("A", calls),))
    assert kind is EventKind.JOB_COMPLETED
    assert calls == ["A before", "A begin", LOOP_THREAD, "A end", "A after"]


@pytest.mark.parametrize("surrounded", ["not", "awaited", "blocking"])
def test_hooks_run_beside_the_loop_and_share_the_context(driver: Driver, surrounded: str) -> None:
    """What `work_begin` sets the coroutine sees, and what it sets `work_end` sees."""
    hooks = Hooks()
    calls: list[str] = []
    around: dict[str, tuple[Plugin, ...]] = {
        "not": (),
        "awaited": (AwaitedRecorder("A", calls),),
        "blocking": (Recorder("A", calls),),
    }

    async def task(job: Job) -> None:
        job.record_output(TENANT.get())
        TENANT.set("two")

    _, job = worked(driver, task, plugins=(*around[surrounded], hooks))
    assert job.metadata["output"] == "one"
    assert hooks.seen == ["two"]
    assert LOOP_THREAD not in hooks.threads


@pytest.mark.parametrize("awaited", [False, True])
def test_end_hooks_see_what_our_cancellation_meant(driver: Driver, awaited: bool) -> None:
    """River's time-out, not asyncio's CancelledError."""
    hooks = Hooks()
    plugins = (AwaitedRecorder("A", []), hooks) if awaited else (hooks,)
    with running(driver, Registry().add(Limited(Waiting())), claims=1, plugins=plugins) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "limited")
        assert next_event(events).kind is EventKind.JOB_FAILED
    assert [type(error) for error in hooks.errors] == [JobTimeoutError]
    assert row(driver, job.id).errors[0].error == "job timed out after 0.05s"


def test_end_hooks_choose_the_outcome(driver: Driver) -> None:
    """A cancel instead of an error."""

    class Cancelling(Plugin):
        def work_end(self, job: Job, error: BaseException | None) -> BaseException | None:
            return JobCancelError("no use") if isinstance(error, ValueError) else error

    async def task(job: Job) -> None:
        raise ValueError("it broke")

    _, job = worked(driver, task, plugins=(Cancelling(),))
    assert (job.state, job.errors[0].error) == (JobState.CANCELLED, "JobCancelError: no use")


@pytest.mark.parametrize("surrounded", [False, True])
def test_a_begin_hook_that_raises_keeps_the_task_from_running(driver: Driver, surrounded: bool) -> None:
    """Checklist 123. The task never began, so nothing is left un-awaited."""
    ran: list[Job] = []

    class Refusing(Plugin):
        def work_begin(self, job: Job) -> None:
            raise PermissionError("not now")

    async def task(job: Job) -> None:
        ran.append(job)

    plugins = (AwaitedRecorder("A", []), Refusing()) if surrounded else (Refusing(),)
    _, job = worked(driver, task, plugins=plugins)
    assert job.errors[0].error == "not now"
    assert ran == []


def test_awaited_middleware_may_answer_and_call_again(driver: Driver) -> None:
    """An outcome of its own counts; what it swallows did not happen."""
    tries: list[int] = []

    class Twice(Plugin):
        async def work_awaited(self, job: Job, operation: AwaitedWorkOperation) -> Outcome | None:
            try:
                return await operation()
            except ValueError:
                await operation()
                return Completed({"again": True})

    async def task(job: Job) -> None:
        tries.append(len(tries))
        if len(tries) == 1:
            raise ValueError("the first time")

    _, job = worked(driver, task, plugins=(Twice(),))
    assert (job.state, job.metadata, tries) == (JobState.COMPLETED, {"again": True}, [0, 1])


def test_a_stop_before_the_task_began_reaches_it_there(driver: Driver) -> None:
    """Awaited middleware is not cancelled; the task is not begun any more."""
    began, release = threading.Event(), threading.Event()
    calls: list[str] = []

    class Slow(Plugin):
        async def work_awaited(self, job: Job, operation: AwaitedWorkOperation) -> Outcome | None:
            began.set()
            while not release.is_set():
                await asyncio.sleep(0.005)  # looks again for a fact
            try:
                return await operation()
            finally:
                calls.append("after")

    async def task(job: Job) -> None:
        calls.append("task")

    with running(driver, registry(one=task), plugins=(Slow(),)) as worker:
        job = insert(driver, "one")
        assert began.wait(DEADLINE)
        stopper = threading.Thread(target=worker.stop_and_cancel, args=(DEADLINE,))
        stopper.start()
        while not job_stops(worker):
            release.wait(0.005)  # looks again for a fact
        release.set()
        stopper.join(DEADLINE)
    after = row(driver, job.id)
    assert (after.state, after.attempt, calls) == (JobState.AVAILABLE, 0, ["after"])


def job_stops(worker: Any) -> bool:
    """Whether the only job was told to stop."""
    [item] = worker._parts.slots[0]._running.values()
    return bool(item.job.stopped)


@pytest.mark.parametrize(
    ("plugin", "few"),
    [(PersistedLogs, True), (lambda: Recorder("A", []), False)],
    ids=["awaited", "blocking"],
)
def test_who_keeps_threads(driver: Driver, plugin: Callable[[], Plugin], few: bool) -> None:
    """Coroutines with logs in their rows need no threads; each one behind a blocking plugin needs its own."""
    count = 12
    waiting = Waiting()

    async def task(job: Job) -> None:
        if few:
            job.logger.info("began %d", job.row.id)
        await waiting(job)

    options: dict[str, Any] = {"plugins": (plugin(),), "queues": {"default": count}}
    with running(driver, registry(one=task), **options) as worker:
        jobs = [insert(driver, "one") for _ in range(count)]
        waiting.wait_begun(count)
        names = [item.name for item in threading.enumerate() if item.name.startswith("river-default-")]
        assert len(names) <= 2 if few else len(names) == count
        waiting.release.set()
        assert worker.stop() is True
    if few:
        logs = [row(driver, job.id).metadata["river:log"][0]["log"] for job in jobs]
        assert all(f"began {job.id}" in text for job, text in zip(jobs, logs, strict=True))


def test_a_blocking_plugin_s_coroutine_hears_a_hard_stop(driver: Driver) -> None:
    """The thread that waits for it is not interrupted, the coroutine is."""
    waiting = Waiting()
    calls: list[str] = []
    with running(driver, registry(one=waiting), plugins=(Recorder("A", calls),)) as worker:
        job = insert(driver, "one")
        waiting.wait_begun()
        worker.stop_and_cancel(DEADLINE)
    assert (row(driver, job.id).state, row(driver, job.id).attempt) == (JobState.AVAILABLE, 0)
    assert waiting.seen == [asyncio.CancelledError]
    assert calls[-2:] == ["A end", "A after"]


def test_a_finished_coroutine_may_be_deleted(driver: Driver) -> None:
    """`job_finalize` is asked as ever."""

    class Deleting(Plugin):
        def job_finalize(self, job: Job, state: JobState) -> FinalizeAction:
            return FinalizeAction.DELETE

    async def task(job: Job) -> None:
        """Do nothing."""

    with running(driver, registry(one=task), plugins=(Deleting(),)) as worker:
        insert(driver, "one")
        wait_for(lambda: worker.client.job_list().jobs == [], "the deletion")


class Counted(Task):
    """A coroutine task with a plugin of its own."""

    kind = "counted"

    def __init__(self, calls: list[str]) -> None:
        self.plugins = (AwaitedRecorder("own", calls),)

    async def work(self, job: Job) -> None:
        """Do nothing."""


def test_a_task_s_own_plugins_are_innermost(driver: Driver) -> None:
    """Checklist 121. As for tasks in threads."""
    calls: list[str] = []
    tasks = Registry().add(Counted(calls))
    with running(driver, tasks, plugins=(AwaitedRecorder("A", calls),)) as worker:
        events = worker.events.subscribe()
        insert(driver, "counted")
        assert next_event(events).kind is EventKind.JOB_COMPLETED
    assert calls[:2] == ["A before, awaited", "own before, awaited"]
    assert calls[-2:] == ["own after, awaited", "A after, awaited"]
