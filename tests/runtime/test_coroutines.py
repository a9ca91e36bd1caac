"""Coroutine tasks: on one event loop, with the outcomes that tasks in threads have."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.errors import JobCancelError, JobSnoozeError, JobTimeoutError, RiverError
from river_core.insert import EncodedArgs
from river_core.job import JobRow, JobState
from river_core.outcome import Completed, Outcome, Snoozed
from river_core.task import Job, Registry, Task
from river_core.worker.config import WorkerConfig
from river_core.worker.events import EventKind
from river_core.worker.worker import Worker
from tests.runtime.test_resumable import Never
from tests.runtime.workers import DEADLINE, insert, next_event, registry, row, running, wait_for

LOOP_THREAD = "river-event-loop"


def worked(driver: Driver, function: Callable[[Job], Any], **options: Any) -> tuple[EventKind, JobRow]:
    """Work one job; return the event and the row that it left."""
    with running(driver, registry(one=function), claims=1, **options) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one")
        kind = next_event(events).kind
    return kind, row(driver, job.id)


class Waiting:
    """A coroutine task that says it began, and waits to be let go, however many of it there are."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.release = threading.Event()
        self.seen: list[type[BaseException]] = []

    async def __call__(self, job: Job) -> None:
        """Begin, and wait."""
        self.began.release()
        try:
            while not self.release.is_set():
                await asyncio.sleep(0.005)  # looks again for a fact
        except asyncio.CancelledError as error:
            self.seen.append(type(error))
            raise

    def wait_begun(self, count: int = 1) -> None:
        """Wait until so many more have begun."""
        for _ in range(count):
            assert self.began.acquire(timeout=DEADLINE)


class AsyncTask(Task):
    """A task whose `work` is a coroutine."""

    kind = "as_class"

    async def work(self, job: Job) -> Outcome | None:
        """Give an outcome."""
        await asyncio.sleep(0)
        return Completed({"thread": threading.current_thread().name})


class Mixed(Task):
    """A task that decides for each job, as an adapter whose rows have one kind does."""

    kind = "mixed"

    def work(self, job: Job) -> Outcome | Awaitable[Outcome | None] | None:
        """Be a coroutine, or not."""
        return self.awaited() if job.args["await"] else self.here()

    def is_coroutine(self, job: JobRow) -> bool:
        """Tell before."""
        return bool(job.args["await"])

    def here(self) -> Outcome:
        """Name the thread."""
        return Completed({"thread": threading.current_thread().name})

    async def awaited(self) -> Outcome:
        """Name the thread of the loop."""
        return self.here()


class TestForms:
    """What is a coroutine task."""

    def test_functions_classes_and_what_returns_an_awaitable(self, driver: Driver) -> None:
        """All run on the one loop of the worker; outcomes count, other results do not."""
        loops: list[asyncio.AbstractEventLoop] = []

        async def function(job: Job) -> str:
            loops.append(asyncio.get_running_loop())
            job.record_output(threading.current_thread().name)
            return "no outcome"

        tasks = registry(function=function, returned=lambda job: function(job)).add(AsyncTask()).add(Mixed())
        with running(driver, tasks) as worker:
            events = worker.events.subscribe()
            jobs = [insert(driver, kind) for kind in ("function", "returned", "as_class")]
            jobs += [insert(driver, "mixed", '{"await": true}'), insert(driver, "mixed", '{"await": false}')]
            assert {next_event(events).kind for _ in jobs} == {EventKind.JOB_COMPLETED}
        ended = [row(driver, job.id).metadata for job in jobs]
        assert [item["output"] for item in ended[:2]] == [LOOP_THREAD] * 2
        assert [item["thread"] for item in ended[2:4]] == [LOOP_THREAD] * 2
        assert ended[4]["thread"].startswith("river-default-")
        assert len(set(loops)) == 1

    def test_no_coroutine_no_thread(self, driver: Driver) -> None:
        """The loop starts at the first of them, and ends with the worker."""

        def names() -> list[str]:
            return [thread.name for thread in threading.enumerate() if thread.name.startswith(LOOP_THREAD)]

        async def quick(job: Job) -> None:
            """Do nothing."""

        with running(driver, registry(plain=lambda job: None, quick=quick)) as worker:
            events = worker.events.subscribe()
            insert(driver, "plain")
            next_event(events)
            assert names() == []
            insert(driver, "quick")
            next_event(events)
            assert LOOP_THREAD in names()
        wait_for(lambda: not names(), "the end of the loop's threads")

    def test_in_the_main_thread_s_slot(self, driver: Driver) -> None:
        """A worker of the main thread runs them there, all on one loop."""
        facts: list[tuple[threading.Thread, asyncio.AbstractEventLoop]] = []

        async def quick(job: Job) -> None:
            await asyncio.sleep(0)
            facts.append((threading.current_thread(), asyncio.get_running_loop()))

        with running(driver, registry(quick=quick), main_thread=True) as worker:
            events = worker.events.subscribe()
            insert(driver, "quick")
            wait_for(lambda: worker.run_jobs(0.01) or facts, "the end of the first job")
            insert(driver, "quick")
            next_event(events)
            heard: list[Any] = []
            hear = threading.Thread(target=lambda: heard.append(next_event(events).kind))
            hear.start()
            wait_for(lambda: worker.run_jobs(0.01) or heard, "the end of the job")
            hear.join(DEADLINE)
            assert heard == [EventKind.JOB_COMPLETED]
        assert len(set(facts)) == 1
        assert facts[0][0] is threading.current_thread()


async def fails(job: Job) -> None:
    """Raise."""
    await asyncio.sleep(0)
    raise ValueError("it broke")


async def grouped(error: BaseException) -> None:
    """Raise in a child of a task group."""

    async def child() -> None:
        raise error

    async with asyncio.TaskGroup() as group:
        group.create_task(child())
        group.create_task(asyncio.sleep(DEADLINE))


class TestOutcomes:
    """How attempts end."""

    def test_an_error_is_recorded_with_its_trace(self, driver: Driver) -> None:
        """And tried again."""
        kind, job = worked(driver, fails)
        assert (kind, job.state, job.attempt) == (EventKind.JOB_FAILED, JobState.AVAILABLE, 1)
        assert job.errors[0].error == "it broke"
        assert 'raise ValueError("it broke")' in job.errors[0].trace

    @pytest.mark.parametrize("in_group", [False, True])
    @pytest.mark.parametrize(
        ("error", "state"),
        [(JobCancelError("no need"), JobState.CANCELLED), (JobSnoozeError(600), JobState.SCHEDULED)],
        ids=["cancel", "snooze"],
    )
    def test_control_flow(
        self, driver: Driver, error: BaseException, state: JobState, in_group: bool
    ) -> None:
        """Raised by the coroutine itself or in a TaskGroup; no `except Exception` stops it."""

        async def task(job: Job) -> None:
            try:
                if in_group:
                    await grouped(error)
                raise error
            except Exception as caught:
                raise AssertionError("control flow is no Exception") from caught

        _, job = worked(driver, task)
        assert (job.state, job.attempt) == (state, 0 if state is JobState.SCHEDULED else 1)

    def test_an_outcome_that_is_returned(self, driver: Driver) -> None:
        """As by a task in a thread."""

        async def task(job: Job) -> Outcome:
            return Snoozed(600)

        _, job = worked(driver, task)
        assert (job.state, job.attempt) == (JobState.SCHEDULED, 0)

    @pytest.mark.parametrize("in_child", [False, True])
    def test_an_exit_fails_the_job_and_not_the_loop(self, driver: Driver, in_child: bool) -> None:
        """SystemExit, of the coroutine or of a task that it made, ends that attempt alone."""

        async def leave() -> None:
            raise SystemExit(3)

        async def task(job: Job) -> None:
            await (asyncio.create_task(leave()) if in_child else leave())

        async def quick(job: Job) -> None:
            """Do nothing."""

        with running(driver, registry(one=task, quick=quick)) as worker:
            events = worker.events.subscribe()
            job = insert(driver, "one", max_attempts=1)
            assert next_event(events).kind is EventKind.JOB_FAILED
            insert(driver, "quick")
            assert next_event(events).kind is EventKind.JOB_COMPLETED
        assert row(driver, job.id).state is JobState.DISCARDED

    def test_a_coroutine_that_cancels_itself_has_failed(self, driver: Driver) -> None:
        """Nobody else wanted its end."""

        async def task(job: Job) -> None:
            raise asyncio.CancelledError

        kind, job = worked(driver, task)
        assert (kind, job.errors[0].error) == (EventKind.JOB_FAILED, "CancelledError")

    def test_the_loop_never_decides(self, driver: Driver) -> None:
        """Error handlers, which may block, are not called in its thread."""
        threads: list[str] = []

        def handler(job: Job, error: BaseException) -> str:
            threads.append(threading.current_thread().name)
            return "cancel"

        _, job = worked(driver, fails, error_handler=handler)
        assert job.state is JobState.CANCELLED
        assert threads[0] != LOOP_THREAD


class Limited(Task):
    """A coroutine with a time-out."""

    kind = "limited"

    def __init__(self, function: Callable[[Job], Awaitable[None]]) -> None:
        self.function = function

    def timeout(self, job: JobRow) -> float:
        return 0.05

    async def work(self, job: Job) -> None:
        """Run the function."""
        await self.function(job)


class TestEnds:
    """Ends that come from outside."""

    def test_a_time_out(self, driver: Driver) -> None:
        """Checklist 83. The coroutine is cancelled where it waits; the error is River's."""
        waiting = Waiting()
        with running(driver, Registry().add(Limited(waiting)), claims=1) as worker:
            events = worker.events.subscribe()
            job = insert(driver, "limited")
            assert next_event(events).kind is EventKind.JOB_FAILED
        [error] = row(driver, job.id).errors
        assert error.error == "job timed out after 0.05s"
        assert "asyncio.sleep" in error.trace
        assert waiting.seen == [asyncio.CancelledError]

    def test_a_time_out_of_its_own_is_not_ours(self, driver: Driver) -> None:
        """`asyncio.timeout` inside the task, and around what was cancelled by us, keep their meaning."""

        async def task(job: Job) -> None:
            try:
                async with asyncio.timeout(0.001):
                    await asyncio.sleep(DEADLINE)
            except TimeoutError:
                job.update_metadata({"own": True})

        _, job = worked(driver, task)
        assert (job.state, job.metadata["own"]) == (JobState.COMPLETED, True)

    @pytest.mark.parametrize("poll_only", [False, True])
    def test_a_cancellation_from_outside(self, driver: Driver, poll_only: bool) -> None:
        """By notification, or by the poll; it is asyncio's in the coroutine and River's in the row."""
        waiting = Waiting()
        with running(driver, registry(long=waiting), poll_only=poll_only) as worker:
            events = worker.events.subscribe()
            job = insert(driver, "long")
            waiting.wait_begun()
            Client(driver).job_cancel(job.id)
            assert next_event(events).kind is EventKind.JOB_CANCELLED
        after = row(driver, job.id)
        assert after.state is JobState.CANCELLED
        assert [error.error for error in after.errors] == ["JobCancelError: job cancelled remotely"]
        assert waiting.seen == [asyncio.CancelledError]

    def test_what_succeeds_in_spite_of_a_cancellation_is_completed(self, driver: Driver) -> None:
        """As in a thread: the work is done."""
        began = threading.Event()

        async def task(job: Job) -> None:
            try:
                began.set()
                await asyncio.sleep(DEADLINE)
            except asyncio.CancelledError:
                job.update_metadata({"stopped": job.stopped})

        with running(driver, registry(tidy=task)) as worker:
            events = worker.events.subscribe()
            job = insert(driver, "tidy")
            assert began.wait(DEADLINE)
            Client(driver).job_cancel(job.id)
            assert next_event(events).kind is EventKind.JOB_COMPLETED
        assert row(driver, job.id).metadata["stopped"] is True

    def test_an_error_after_a_cancellation_is_the_cancellation(self, driver: Driver) -> None:
        """Also where the errors come in a group."""
        began = threading.Event()

        async def child() -> None:
            try:
                began.set()
                await asyncio.sleep(DEADLINE)
            finally:
                raise ValueError("while tidying up")

        async def task(job: Job) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(child())

        with running(driver, registry(long=task)) as worker:
            events = worker.events.subscribe()
            job = insert(driver, "long")
            assert began.wait(DEADLINE)
            Client(driver).job_cancel(job.id)
            assert next_event(events).kind is EventKind.JOB_CANCELLED
        assert row(driver, job.id).errors[0].error == "JobCancelError: job cancelled remotely"

    def test_a_hard_stop_gives_the_attempt_back(self, driver: Driver) -> None:
        """Available at once, without an error."""
        waiting = Waiting()
        with running(driver, registry(long=waiting)) as worker:
            events = worker.events.subscribe()
            jobs = [insert(driver, "long") for _ in range(3)]
            waiting.wait_begun(3)
            assert worker.stop_and_cancel(DEADLINE) is False
            assert {next_event(events).kind for _ in jobs} == {EventKind.JOB_INTERRUPTED}
        for job in jobs:
            after = row(driver, job.id)
            assert (after.state, after.attempt, after.errors) == (JobState.AVAILABLE, 0, [])
        assert waiting.seen == [asyncio.CancelledError] * 3

    def test_one_that_ignores_the_stop_is_given_back_and_cannot_write_later(self, driver: Driver) -> None:
        """Its row is available at once; what it does afterwards changes nothing."""
        began, ended = threading.Event(), threading.Event()

        async def task(job: Job) -> None:
            for _ in range(2):
                try:
                    began.set()
                    await asyncio.sleep(DEADLINE)
                except asyncio.CancelledError:
                    job.update_metadata({"late": True})
            ended.set()

        with running(driver, registry(deaf=task)) as worker:
            job = insert(driver, "deaf")
            assert began.wait(DEADLINE)
            assert worker.stop_and_cancel(0.2) is False
            assert ended.wait(DEADLINE)  # the end of the loop cancels it once more
        after = row(driver, job.id)
        assert (after.state, after.attempt, after.metadata) == (JobState.AVAILABLE, 0, {})

    def test_a_client_that_lost_its_lock_cancels_them(self, driver: Driver) -> None:
        """What the liveness lock calls when it is lost; the row is there for the next attempt."""
        waiting = Waiting()
        with running(driver, registry(long=waiting)) as worker:
            events = worker.events.subscribe()
            insert(driver, "long")
            waiting.wait_begun()
            assert worker._parts is not None
            worker._parts.lock._on_lost()
            assert next_event(events).kind is EventKind.JOB_INTERRUPTED
            waiting.release.set()
            assert next_event(events).kind is EventKind.JOB_COMPLETED

    def test_a_drain_waits_for_them(self, driver: Driver) -> None:
        """They are active until they end, and nothing new is claimed meanwhile."""
        waiting = Waiting()
        with running(driver, registry(long=waiting), queues={"default": 2}) as worker:
            jobs = [insert(driver, "long") for _ in range(3)]
            waiting.wait_begun(2)
            assert worker.active == 2
            stopped: list[bool] = []
            stopper = threading.Thread(target=lambda: stopped.append(worker.stop()))
            stopper.start()
            waiting.release.set()
            stopper.join(DEADLINE)
            assert stopped == [True]
        assert [row(driver, job.id).state for job in jobs] == [
            JobState.COMPLETED,
            JobState.COMPLETED,
            JobState.AVAILABLE,
        ]

    def test_a_coroutine_cannot_wait_for_its_own_worker(self, driver: Driver) -> None:
        """It would wait for itself."""
        workers: list[Worker] = []

        async def task(job: Job) -> None:
            with pytest.raises(RiverError, match="request_stop"):
                workers[0].stop()
            job.update_metadata({"refused": True})

        with running(driver, registry(one=task)) as worker:
            workers.append(worker)
            events = worker.events.subscribe()
            job = insert(driver, "one")
            assert next_event(events).kind is EventKind.JOB_COMPLETED
        assert row(driver, job.id).metadata == {"refused": True}

    def test_a_stuck_one_is_reported_and_replaced(self, driver: Driver) -> None:
        """Checklist 83. It does not hear its cancellation; another job has a place meanwhile."""
        reported, let_go = threading.Event(), threading.Event()

        async def deaf(job: Job) -> None:
            while not let_go.is_set():
                try:
                    await asyncio.sleep(0.005)  # looks again for a fact
                except asyncio.CancelledError:
                    continue

        def handler(*facts: Any) -> bool:
            reported.set()
            return True

        async def quick(job: Job) -> None:
            """Do nothing."""

        tasks = registry(quick=quick).add(Limited(deaf))
        options = {"job_stuck_threshold": 0.05, "job_stuck_handler": handler, "queues": {"default": 1}}
        with running(driver, tasks, **options) as worker:
            events = worker.events.subscribe()
            stuck = insert(driver, "limited")
            assert reported.wait(DEADLINE)
            for _ in range(3):
                insert(driver, "quick")
                assert next_event(events).kind is EventKind.JOB_COMPLETED
            let_go.set()
            assert next_event(events).kind is EventKind.JOB_COMPLETED
            insert(driver, "quick")
            assert next_event(events).kind is EventKind.JOB_COMPLETED
        assert row(driver, stuck.id).state is JobState.COMPLETED


class TestLimits:
    """How many there are."""

    def test_many_wait_on_few_threads_and_max_workers_caps_them(self, driver: Driver) -> None:
        """Checklist 62. Never more than max_workers are active; their threads are two at most."""
        count = 150
        waiting = Waiting()
        with running(driver, registry(long=waiting), queues={"default": count}) as worker:
            jobs = Client(driver).insert_many(
                [river_many("long") for _ in range(count + 10)]  # ten more than there are places
            )
            waiting.wait_begun(count)
            names = [thread.name for thread in threading.enumerate()]
            assert len([name for name in names if name.startswith("river-default-")]) <= 2
            assert worker.active == count
            assert not waiting.began.acquire(blocking=False)
            waiting.release.set()
            waiting.wait_begun(10)
            assert worker.stop() is True
        assert {row(driver, item.job.id).state for item in jobs} == {JobState.COMPLETED}

    def test_threads_and_coroutines_share_the_places(self, driver: Driver) -> None:
        """Tasks in threads go on beside coroutines that wait, up to the same number."""
        waiting = Waiting()
        active: list[int] = []
        workers: list[Worker] = []

        def plain(job: Job) -> None:
            active.append(workers[0].active)

        with running(driver, registry(long=waiting, plain=plain), queues={"default": 3}) as worker:
            workers.append(worker)
            events = worker.events.subscribe()
            for _ in range(2):
                insert(driver, "long")
            waiting.wait_begun(2)
            for _ in range(5):
                insert(driver, "plain")
            for _ in range(5):
                assert next_event(events).job.kind == "plain"  # type: ignore[union-attr] # events of jobs have one
            waiting.release.set()
        assert set(active) == {3}

    def test_a_blocked_loop_is_reported_by_name(
        self, driver: Driver, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Code that blocks in a coroutine holds up all others: a warning names the job and the line."""
        reported = threading.Event()

        class Tells(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if "blocked the event loop" in record.getMessage():
                    reported.set()

        async def blocks(job: Job) -> None:
            reported.wait(DEADLINE)

        handler = Tells()
        logging.getLogger("river_core.worker.event_loop").addHandler(handler)
        try:
            _, job = worked(driver, blocks)
        finally:
            logging.getLogger("river_core.worker.event_loop").removeHandler(handler)
        assert job.state is JobState.COMPLETED
        [text] = [item.getMessage() for item in caplog.records if "blocked the event" in item.getMessage()]
        assert text.startswith(f"job {job.id} of kind 'one'")
        assert "reported.wait(DEADLINE)" in text


def river_many(kind: str) -> Any:
    """One job of many."""
    from river_core import InsertManyParams

    return InsertManyParams(EncodedArgs(kind, "{}"))


SEEN: ContextVar[str] = ContextVar("seen", default="nothing")


class TestPowers:
    """What a job offers to a coroutine."""

    def test_contexts_do_not_mix(self, driver: Driver) -> None:
        """What one job sets, its children see, and no other job does."""

        async def child() -> str:
            return SEEN.get()

        async def task(job: Job) -> None:
            before = SEEN.get()
            SEEN.set(f"job {job.row.id}")
            await asyncio.sleep(0.01)
            job.record_output([before, await asyncio.create_task(child())])

        with running(driver, registry(one=task)) as worker:
            events = worker.events.subscribe()
            jobs = [insert(driver, "one") for _ in range(5)]
            for _ in jobs:
                next_event(events)
        for job in jobs:
            assert row(driver, job.id).metadata["output"] == ["nothing", f"job {job.id}"]

    def test_the_client_is_called_in_a_thread(self, driver: Driver) -> None:
        """It blocks; what it inserts is there."""

        async def task(job: Job) -> None:
            assert isinstance(job.client, Client)
            result = await asyncio.to_thread(job.client.insert, EncodedArgs("one", "{}"), queue="other")
            job.record_output(result.job.id)

        _, job = worked(driver, task)
        assert row(driver, job.metadata["output"]).queue == "other"

    def test_steps(self, driver: Driver) -> None:
        """A retry runs what is left, from where its cursor is."""
        ran: list[Any] = []

        async def prepare() -> str:
            await asyncio.sleep(0)
            ran.append("prepare")
            return "prepared"

        async def task(job: Job) -> None:
            async def batches(cursor: int) -> None:
                for number in range(cursor, 3):
                    ran.append(number)
                    job.steps.set_cursor(number + 1)
                    await asyncio.sleep(0)
                    if number == 1 and job.row.attempt == 1:
                        raise ConnectionError("the server went away")

            assert await job.steps.run_awaited("prepare", prepare) == (
                "prepared" if job.row.attempt == 1 else None
            )
            await job.steps.run_cursor_awaited("batches", batches, default=0)

        with running(driver, registry(one=task), retry_policy=Never()) as worker:
            events = worker.events.subscribe()
            job = insert(driver, "one")
            assert next_event(events).kind is EventKind.JOB_FAILED
            assert row(driver, job.id).metadata["river:resumable_cursor"] == {"batches": 2}
            Client(driver).job_retry(job.id)
            assert next_event(events).kind is EventKind.JOB_COMPLETED
        assert ran == ["prepare", 0, 1, 2]

    def test_a_step_that_is_a_coroutine_is_not_taken_for_done(self, driver: Driver) -> None:
        """`run` refuses it by name."""

        async def prepare() -> None:
            """Do nothing."""

        async def task(job: Job) -> None:
            job.steps.run("prepare", prepare)

        _, job = worked(driver, task)
        assert "run_awaited" in job.errors[0].error


def test_a_time_out_inside_is_the_tasks_own(driver: Driver) -> None:
    """JobTimeoutError that a coroutine raises with seconds keeps them."""

    async def task(job: Job) -> None:
        raise JobTimeoutError(7)

    _, job = worked(driver, task)
    assert job.errors[0].error == "job timed out after 7s"


def test_the_configuration_takes_them(driver: Driver) -> None:
    """A worker of coroutines alone starts and stops without any."""
    worker = Worker(driver, Registry().add(AsyncTask()), WorkerConfig(queues={"default": 1000}))
    worker.start()
    assert worker.stop() is True
