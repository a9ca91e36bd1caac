"""The test worker: real attempts in the calling thread and in the test's own transaction."""

from __future__ import annotations

import asyncio
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core import (
    Client,
    ConfigurationError,
    FinalizeAction,
    InsertOpts,
    Job,
    JobCancelError,
    JobInterruptedError,
    JobSnoozeError,
    NotFoundError,
    PersistedLogs,
    Plugin,
    Registry,
    Task,
    UniqueOpts,
    UnknownJobKindError,
    ValidationError,
    job_checkpoint,
    job_complete_tx,
    join,
)
from river_core.drivers.base import Driver
from river_core.errors import JobTimeoutError
from river_core.insert import EncodedArgs
from river_core.outcome import Completed, FollowUp
from river_core.testing import (
    StubClock,
    TestWorker,
    WorkOutcome,
    require_inserted,
    require_many_inserted,
    resumable_step_after,
    resumable_step_at_cursor,
    work_context,
)
from tests import django_settings
from tests.conformance.applications import OPENERS, every_library, on
from tests.conformance.raw_connections import application_connection, count_jobs, fetch

ONE = EncodedArgs("one", "{}")
NEXT = EncodedArgs("next", "{}")


@pytest.fixture
def tx(driver: Driver, database_url: str) -> Iterator[Any]:
    """A connection of the test's own, rolled back at the end."""
    with application_connection(database_url) as connection:
        yield connection
        connection.rollback()
    assert count_jobs(driver) == 0


def raising(error: BaseException) -> Callable[[Job], None]:
    """A task that raises."""

    def task(job: Job) -> None:
        raise error

    return task


def worker_for(driver: Driver, task: Callable[[Job], Any] | Task, **options: Any) -> TestWorker:
    """A test worker for one task, and for `next`, which does nothing."""
    registry = Registry().add("next", lambda job: None)
    registry.add(task) if isinstance(task, Task) else registry.add("one", task)
    return TestWorker(driver, registry, **options)


class TestTransaction:
    """Everything belongs to the transaction of the test."""

    @every_library
    def test_one_transaction_has_it_all(self, driver: Driver, application: Any) -> None:
        """The job, what it inserts by its own client and by another, and its outcome; nothing is left."""
        ran_in: list[Any] = []

        def one(job: Job) -> None:
            ran_in.append(threading.current_thread())
            assert job.client is not None
            job.client.insert(NEXT)
            Client(driver).insert(NEXT)
            job.record_output(7)

        result = worker_for(driver, one).work(application, ONE)
        assert ran_in == [threading.current_thread()]
        assert (result.outcome, result.event_kind, result.error) == ("completed", "job_completed", None)
        assert (result.job.state, result.job.attempt, result.job.metadata["output"]) == ("completed", 1, 7)
        assert result.statistics is not None
        require_many_inserted(application, ["one", "next", "next"])
        assert count_jobs(driver) == 0
        application.rollback()
        assert count_jobs(driver) == 0

    @every_library
    def test_the_job_can_complete_and_checkpoint_itself(self, driver: Driver, application: Any) -> None:
        """`job_complete_tx` and `job_checkpoint` find the row, and what they wrote counts."""

        def one(job: Job) -> None:
            job.steps.run("first", lambda: job_checkpoint(job))
            job_complete_tx(job)
            raise ValueError("after the completion")

        result = worker_for(driver, one).work(application, ONE)
        assert (result.outcome, result.event_kind) == ("completed", "job_completed")
        assert result.job.metadata["river:resumable_step"] == "first"
        assert result.job.errors == []
        application.rollback()
        assert count_jobs(driver) == 0

    @on("psycopg", "sqlite3")
    def test_a_joined_connection_needs_no_name(self, driver: Driver, application: Any) -> None:
        """None stands for it; without one each statement commits by itself."""
        worker = worker_for(driver, lambda job: None)
        with join(application):
            assert worker.work(None, ONE).outcome == "completed"
        application.rollback()
        assert count_jobs(driver) == 0
        assert worker.work(None, ONE).outcome == "completed"
        assert fetch(driver, "SELECT state FROM river_job")[0][0] == "completed"

    @on("psycopg")
    def test_a_transaction_that_the_task_broke_is_named(self, driver: Driver, application: Any) -> None:
        """No outcome can be written in it: the test fails, with the task's error and the way out."""

        def one(job: Job) -> None:
            application.execute("SELECT 1/0")

        with pytest.raises(AssertionError, match="savepoint") as caught:
            worker_for(driver, one).work(application, ONE)
        assert "DivisionByZero" in str(caught.value)
        assert type(caught.value.__cause__).__name__ == "DivisionByZero"
        application.rollback()

    @pytest.mark.parametrize(
        "database_url", [pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"], indirect=True
    )
    def test_djangos_test_case_is_the_transaction(self, driver: Driver, database_url: str) -> None:
        """The alias's atomic block is joined without a word; the next test starts empty."""
        django_settings.configure()
        from django.test import TestCase

        from river_core.drivers.django import DjangoDriver

        with django_settings.alias("default", database_url), closing(DjangoDriver()) as django:
            worker = worker_for(django, lambda job: job.client and job.client.insert(NEXT))

            class Checkout(TestCase):
                def test_one(self) -> None:
                    worker.work(None, ONE).require("completed")
                    require_inserted(django, "next")
                    assert [result.outcome for result in worker.drain(None)] == ["completed"]

                test_two = test_one

            result = unittest.TestResult()
            unittest.defaultTestLoader.loadTestsFromTestCase(Checkout).run(result)
        assert result.testsRun == 2
        assert result.wasSuccessful(), result.errors + result.failures
        assert count_jobs(driver) == 0


class Deleting(Plugin):
    """Deletes what succeeded."""

    def job_finalize(self, job: Job, state: str) -> FinalizeAction:
        return FinalizeAction.DELETE


class TestOutcomes:
    """Each way an attempt can end, as the row and as River's names have it."""

    @pytest.mark.parametrize(
        ("error", "outcome", "kind", "state"),
        [
            (None, "completed", "job_completed", "completed"),
            (ValueError("no"), "retried", "job_failed", "available"),
            (JobCancelError("enough"), "cancelled", "job_cancelled", "cancelled"),
            (JobSnoozeError(3), "snoozed", "job_snoozed", "available"),
            (JobSnoozeError(60), "snoozed", "job_snoozed", "scheduled"),
            (JobInterruptedError(), "interrupted", "job_interrupted", "available"),
        ],
    )
    def test_outcomes(
        self, driver: Driver, tx: Any, error: BaseException | None, outcome: str, kind: str, state: str
    ) -> None:
        """The error is that of the error handler: none for snooze, cancel, interruption. Checklist 155."""
        result = worker_for(driver, raising(error) if error else lambda job: None).work(tx, ONE)
        assert (result.outcome, result.event_kind, result.job.state) == (outcome, kind, state)
        assert result.error is (error if outcome == "retried" else None)
        assert result.job.attempt == (0 if outcome in ("snoozed", "interrupted") else 1)

    def test_the_last_attempt_is_discarded(self, driver: Driver, tx: Any) -> None:
        """And one with attempts left, whose next is beyond the 5 seconds of the scheduler, is retryable."""
        worker = worker_for(driver, raising(ValueError("no")))
        result = worker.work(tx, ONE, max_attempts=2)
        assert (result.outcome, result.job.state) == ("retried", "available")
        result = worker.work_job(tx, result.job)
        assert (result.outcome, result.event_kind) == ("discarded", "job_failed")
        assert [error.error for error in result.job.errors] == ["no", "no"]
        result = worker.work(tx, ONE)
        assert worker.work_job(tx, result.job.id).job.state == "retryable"

    def test_a_finalize_plugin_deletes(self, driver: Driver, tx: Any) -> None:
        """There is no event then; the result has the row as it was."""
        result = worker_for(driver, lambda job: None, plugins=[Deleting()]).work(tx, ONE)
        assert (result.outcome, result.event_kind, result.job.state) == ("deleted", None, "running")

    def test_uniqueness_does_not_count(self, driver: Driver, tx: Any) -> None:
        """Also for what a task inserts; plugins of the worker still see the key. Checklist 155."""
        seen: list[bool] = []

        class Looking(Plugin):
            def insert_begin(self, params: Any) -> None:
                seen.append(params.unique_key is not None)

        def one(job: Job) -> None:
            for _ in range(2):
                Client.insert(job.client, NEXT, unique_opts=UniqueOpts(by_args=True))  # type: ignore[arg-type] # a Client

        worker = worker_for(driver, one, plugins=[Looking()])
        assert worker.work(tx, ONE, unique_opts=UniqueOpts(by_args=True)).outcome == "completed"
        assert worker.work(tx, ONE, unique_opts=UniqueOpts(by_args=True)).job.id > 1
        require_many_inserted(tx, ["one", "next", "next", "one", "next", "next"])
        assert seen == [True] * 6

    def test_require_tells_why(self, driver: Driver, tx: Any) -> None:
        """The row, its errors, and the task's own traceback as the cause."""
        result = worker_for(driver, raising(ValueError("the server went away"))).work(tx, ONE)
        assert result.require("retried") is result
        with pytest.raises(AssertionError, match="the job was retried, not completed") as caught:
            result.require(WorkOutcome.COMPLETED)
        assert "attempt 1: the server went away" in str(caught.value)
        assert caught.value.__cause__ is result.error

    def test_follow_ups_are_inserted(self, driver: Driver, tx: Any) -> None:
        """With the outcome, as an adapter's retry is; the new row's id is in the metadata."""
        follow_up = Client(driver).row_to_insert(NEXT, None, datetime.now(UTC))

        def one(job: Job) -> Completed:
            return Completed(follow_ups=(FollowUp(follow_up, "next_id"),))

        result = worker_for(driver, one).work(tx, ONE)
        assert result.job.metadata["next_id"] == require_inserted(tx, "next").id


class TestRealThings:
    """Plugins, time-outs, retry policies and handlers are those of a worker."""

    def test_plugins_handlers_and_policies(self, driver: Driver, tx: Any) -> None:
        """The worker's own error handler is asked too; the policy's time is written."""

        class Policy:
            def next_retry(self, job: Any, now: datetime) -> datetime:
                return now + timedelta(hours=1)

        def one(job: Job) -> None:
            job.logger.info("began")
            raise ValueError(job.row.queue)

        def handler(job: Job, error: BaseException) -> str | None:
            return "cancel" if str(error) == "doomed" else None

        worker = worker_for(
            driver, one, plugins=[PersistedLogs()], retry_policy=Policy(), error_handler=handler
        )
        result = worker.work(tx, ONE, queue="spare")
        assert result.job.state == "retryable"
        assert result.job.scheduled_at - datetime.now(UTC) > timedelta(minutes=59)
        assert "began" in result.job.metadata["river:log"][0]["log"]
        result = worker.work(tx, ONE, queue="doomed")
        assert (result.outcome, str(result.error)) == ("cancelled", "doomed")

    def test_a_time_out_ends_the_task(self, driver: Driver, tx: Any) -> None:
        """It is raised inside the task, in the test's own thread. Checklist 82."""

        class Slow(Task):
            kind = "one"

            def timeout(self, job: Any) -> float:
                return 0.05

            def work(self, job: Job) -> None:
                until = time.monotonic() + 30
                while time.monotonic() < until:
                    time.sleep(0.001)

        result = worker_for(driver, Slow()).work(tx, ONE)
        assert result.outcome == "retried"
        assert isinstance(result.error, JobTimeoutError)
        assert result.job.errors[0].error == "job timed out after 0.05s"
        assert not [thread for thread in threading.enumerate() if thread.name == "river-test-time"]

    @on(*(name for name in OPENERS if name != "django"))
    def test_coroutines(self, driver: Driver, application: Any) -> None:
        """They run on a loop in the test's thread, so that its transaction takes what they insert.

        Django's own connections cannot be used in a coroutine.
        """
        ran_in: list[Any] = []

        async def one(job: Job) -> None:
            await asyncio.sleep(0)
            ran_in.append(threading.current_thread())
            assert job.client is not None
            job.client.insert(NEXT)

        worker = worker_for(driver, one)
        worker.work(application, ONE).require("completed")
        assert ran_in == [threading.current_thread()]
        require_inserted(application, "next")
        application.rollback()
        assert count_jobs(driver) == 0

    def test_a_time_out_ends_a_coroutine(self, driver: Driver, tx: Any) -> None:
        """And an error of one is the task's own."""

        class Slow(Task):
            kind = "one"

            def timeout(self, job: Any) -> float:
                return 0.05 if job.queue == "slow" else 60

            async def work(self, job: Job) -> None:
                await asyncio.sleep(30 if job.row.queue == "slow" else 0)
                raise ValueError("no")

        worker = worker_for(driver, Slow())
        assert isinstance(worker.work(tx, ONE, queue="slow").error, JobTimeoutError)
        assert isinstance(worker.work(tx, ONE).error, ValueError)

    def test_what_is_no_outcome_passes_through(self, driver: Driver, tx: Any) -> None:
        """Ctrl-C ends the test run, not the job; a failed assertion in a task is its error."""
        with pytest.raises(KeyboardInterrupt):
            worker_for(driver, raising(KeyboardInterrupt())).work(tx, ONE)
        with pytest.raises(pytest.fail.Exception):
            worker_for(driver, lambda job: pytest.fail("in the task")).work(tx, ONE)
        assert isinstance(
            worker_for(driver, raising(AssertionError("no"))).work(tx, ONE).error, AssertionError
        )
        assert isinstance(worker_for(driver, raising(SystemExit(1))).work(tx, ONE).error, SystemExit)

    def test_steps_begin_where_they_are_told(self, driver: Driver, tx: Any) -> None:
        """Behind a step, or in one with its cursor; other metadata stays. Checklist 116."""
        ran: list[Any] = []

        def one(job: Job) -> None:
            job.steps.run("first", lambda: ran.append("first"))
            job.steps.run_cursor("second", lambda cursor: ran.append(cursor), default=0)
            job.steps.run("third", lambda: ran.append("third"))

        worker = worker_for(driver, one)
        opts = InsertOpts(metadata={"mine": 1}, queue="mail")
        result = worker.work(tx, ONE, resumable_step_after(opts, "first"))
        assert (result.outcome, result.job.queue, result.job.metadata["mine"]) == ("completed", "mail", 1)
        worker.work(tx, ONE, resumable_step_at_cursor(None, "second", {"id": 42})).require("completed")
        assert ran == [0, "third", {"id": 42}, "third"]
        assert opts.metadata == {"mine": 1}
        result = worker.work(tx, ONE, resumable_step_after(None, "fourth"))
        assert 'resumable step "fourth" not found' in str(result.error)
        with pytest.raises(ValidationError, match="cursor"):
            resumable_step_at_cursor(None, "second", object())
        with pytest.raises(ValidationError, match="step"):
            resumable_step_after(None, "")

    def test_a_clock_moves_the_jobs(self, driver: Driver, tx: Any) -> None:
        """What is inserted, tried again and finished has the time of the stub; nobody sleeps."""
        clock = StubClock(datetime(2030, 1, 1, tzinfo=UTC))
        failing = [ValueError("no"), ValueError("no"), None]

        def one(job: Job) -> None:
            if error := failing.pop(0):
                raise error

        worker = worker_for(driver, one, clock=clock)
        result = worker.work(tx, ONE)
        assert result.job.created_at == result.job.attempted_at == clock.now()
        assert worker.drain(tx) == []
        clock.advance(2)
        assert [item.outcome for item in worker.drain(tx)] == ["retried"]
        clock.advance(timedelta(minutes=1))
        [result] = worker.drain(tx)
        assert result.job.finalized_at == clock.set(clock.now())
        for wrong in (datetime(2030, 1, 1), "noon"):  # noqa: DTZ001 - the missing zone is the point
            with pytest.raises(ValidationError, match="aware"):
                StubClock(wrong)  # type: ignore[arg-type] # the wrong value is the point


class TestHardFailures:
    """What no worker could have run fails the test, with a hint."""

    def test_a_job_that_is_not_there(self, driver: Driver, tx: Any) -> None:
        """Never inserted, or inserted on another connection and not committed."""
        worker = worker_for(driver, lambda job: None)
        with pytest.raises(AssertionError, match=r"job 7 is not in the database .*\n.*insert_tx"):
            worker.work_job(tx, 7)

    def test_a_job_that_is_gone_at_its_end(self, driver: Driver, tx: Any) -> None:
        """So it can neither be completed in a transaction nor checkpointed. Checklist 155."""

        def one(job: Job) -> None:
            tx.execute("DELETE FROM river_job")
            job_complete_tx(job)

        with pytest.raises(AssertionError, match="was gone when its attempt ended") as caught:
            worker_for(driver, one).work(tx, ONE)
        assert isinstance(caught.value.__cause__, NotFoundError)

    def test_a_job_that_runs_or_is_final(self, driver: Driver, tx: Any) -> None:
        """Working it again would need a retry before."""
        worker = worker_for(driver, lambda job: None)
        result = worker.work(tx, ONE)
        with pytest.raises(AssertionError, match=r"neither runs nor is final.*\n.*completed"):
            worker.work_job(tx, result.job)

    def test_a_job_that_is_moved_on_by_its_task(self, driver: Driver, tx: Any) -> None:
        """Nothing is written over it, and there is no event. Checklist 107."""

        def one(job: Job) -> None:
            row = job_complete_tx(job)
            Client(driver).job_retry(row.id)

        result = worker_for(driver, one).work(tx, ONE)
        assert (result.outcome, result.event_kind, result.job.state) == (None, None, "available")
        with pytest.raises(AssertionError, match="left alone"):
            result.require("completed")

    def test_a_made_up_job_is_in_no_database(self, driver: Driver) -> None:
        """`work_context` gives what a task takes; what would write its row says how to do it."""
        client = Client(driver)
        job = work_context(client, EncodedArgs("one", '{"a": 1}'), queue="mail")
        assert (job.args, job.row.queue, job.row.state, job.row.attempt) == ({"a": 1}, "mail", "running", 1)
        assert job.client is client
        job.steps.run("first", lambda: None)
        with (
            application_connection_of(driver) as connection,
            pytest.raises(NotFoundError, match="TestWorker"),
        ):
            job_complete_tx(job, connection)
        with pytest.raises(NotFoundError, match="TestWorker"):
            job.steps.run("second", lambda: job_checkpoint(job))

    def test_unknown_kinds_and_wrong_options(self, driver: Driver, tx: Any) -> None:
        """As of a client and a worker."""
        worker = TestWorker(Client(driver), Registry())
        with pytest.raises(UnknownJobKindError):
            worker.work(tx, ONE)
        job = Client(driver).insert_tx(tx, ONE).job
        result = worker.work_job(tx, job)
        assert isinstance(result.error, UnknownJobKindError)
        with pytest.raises(ConfigurationError, match="a driver or a client"):
            TestWorker(tx, Registry())
        with pytest.raises(ConfigurationError, match="rescue"):
            TestWorker(driver, Registry(), job_timeout=60, rescue_stuck_jobs_after=1)
        with pytest.raises(ValidationError, match="colour"):
            TestWorker(driver, Registry(), colour="red")


def application_connection_of(driver: Driver) -> Any:
    """A transaction on a connection of the driver's own."""
    from contextlib import contextmanager

    @contextmanager
    def opened() -> Iterator[Any]:
        with driver.connect() as connection, connection.transaction():
            yield connection.raw

    return opened()


class TestDrain:
    """`drain` works what is due."""

    def test_order_and_limits(self, driver: Driver, tx: Any) -> None:
        """Priority, time, id; one queue or all; what jobs insert is worked too; the future stays."""
        order: list[str] = []

        def one(job: Job) -> None:
            order.append(job.args["name"])
            if job.args["name"] == "low":
                assert job.client is not None
                job.client.insert(EncodedArgs("one", '{"name": "child"}'))

        worker = worker_for(driver, one)
        client = Client(driver)
        past = datetime.now(UTC) - timedelta(hours=1)
        future = datetime.now(UTC) + timedelta(hours=1)
        for name, opts in {
            "low": {"priority": 4},
            "first": {},
            "second": {},
            "old": {"scheduled_at": past},
            "future": {"scheduled_at": future},
            "pending": {"pending": True},
            "mail": {"queue": "mail"},
        }.items():
            client.insert_tx(tx, EncodedArgs("one", f'{{"name": "{name}"}}'), **opts)
        assert [result.job.queue for result in worker.drain(tx, queue="mail")] == ["mail"]
        order.clear()
        assert {result.outcome for result in worker.drain(tx)} == {"completed"}
        assert order == ["old", "first", "second", "low", "child"]

    def test_kinds_that_are_known(self, driver: Driver, tx: Any) -> None:
        """With `fetch_only_known_kinds` others stay; without it they fail, as on a worker."""
        Client(driver).insert_tx(tx, EncodedArgs("strange", "{}"))
        Client(driver).insert_tx(tx, ONE)
        results = worker_for(driver, lambda job: None, fetch_only_known_kinds=True).drain(tx)
        assert [result.job.kind for result in results] == ["one"]
        [result] = worker_for(driver, lambda job: None).drain(tx)
        assert isinstance(result.error, UnknownJobKindError)

    def test_retries_that_are_due(self, driver: Driver, tx: Any) -> None:
        """A snooze of nothing is due at once; a retry in a second is not."""
        rest = [JobSnoozeError(0), JobSnoozeError(0), ValueError("no")]

        def one(job: Job) -> None:
            raise rest.pop(0)

        Client(driver).insert_tx(tx, ONE)
        outcomes = [result.outcome for result in worker_for(driver, one).drain(tx)]
        assert outcomes == ["snoozed", "snoozed", "retried"]

    def test_work_without_end(self, driver: Driver, tx: Any) -> None:
        """At most 100 attempts, or as many as are allowed; then the test fails with what goes on."""
        ran: list[int] = []

        def one(job: Job) -> None:
            ran.append(job.row.id)
            assert job.client is not None
            job.client.insert(ONE)

        worker = worker_for(driver, one)
        Client(driver).insert_tx(tx, ONE)
        with pytest.raises(AssertionError, match="after 3 attempts, the limit"):
            worker.drain(tx, limit=3)
        assert len(ran) == 3
        with pytest.raises(AssertionError, match=r"after 100 attempts.*\n.*the next one: job 104"):
            worker.drain(tx)
        with pytest.raises(ValidationError, match="limit"):
            worker.drain(tx, limit=0)
