"""A task completes its own row in a transaction of the application."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from river_core import Client, Plugin, join
from river_core.drivers.base import Driver
from river_core.errors import JobCancelError, NotFoundError, RiverError
from river_core.job import JobRow, JobState
from river_core.job_tx import job_complete_tx
from river_core.task import Job
from river_core.worker.events import EventKind
from tests.conformance.applications import OPENERS
from tests.conformance.raw_connections import application_connection
from tests.runtime.stored import run, states
from tests.runtime.workers import DEADLINE, Gate, insert, next_event, registry, row, running, wait_for

CREATE = "CREATE TABLE application_row (id integer)"
WRITE = "INSERT INTO application_row VALUES (1)"
COUNT = "SELECT count(*) FROM application_row"


class Attempt:
    """One worked job: the events of it, and the row at the end."""

    def __init__(self, driver: Driver, task: Callable[[Job], Any], **options: Any) -> None:
        run(driver, CREATE)
        with running(driver, registry(one=task), claims=1, **options) as worker:
            events = worker.events.subscribe()
            self.id = insert(driver, "one", max_attempts=2).id
            first = next_event(events)
            assert first.job is not None
            assert first.job.id == self.id
            assert worker.stop() is True
        self.kinds = [first.kind, *(event.kind for event in events)]
        self.row = row(driver, self.id)
        self.application_rows = run(driver, COUNT)[0][0]


def completing(
    database_url: str, commits: bool = True, raises: bool = False, written: list[JobRow] | None = None
) -> Callable[[Job], None]:
    """A task that writes a row of the application and completes itself with it."""

    def task(job: Job) -> None:
        job.update_metadata({"before": 1})
        with application_connection(database_url) as connection, join(connection):
            connection.execute(WRITE)
            result = job_complete_tx(job)
            if written is not None:
                written.append(result)
            if commits:
                connection.commit()
            else:
                connection.rollback()
        job.update_metadata({"after": 2})
        if raises:
            raise ValueError("after the transaction")

    return task


def test_commit(driver: Driver, database_url: str) -> None:
    """Checklist 103. Completed with the application's write; the worker leaves it so; one event."""
    written: list[JobRow] = []
    attempt = Attempt(driver, completing(database_url, written=written))
    assert attempt.kinds == [EventKind.JOB_COMPLETED]
    assert (attempt.row.state, attempt.application_rows) == (JobState.COMPLETED, 1)
    assert attempt.row.finalized_at == written[0].finalized_at
    assert (written[0].state, written[0].metadata["before"]) == (JobState.COMPLETED, 1)
    assert attempt.row.metadata["after"] == 2


@pytest.mark.parametrize("library", ["sqlalchemy-session", "sqlalchemy-connection", "django"])
@pytest.mark.parametrize("commits", [True, False], ids=["commit", "rollback"])
def test_a_transaction_of_another_library(
    driver: Driver, database_url: str, library: str, commits: bool
) -> None:
    """The row is completed with what the application wrote by SQLAlchemy or Django, or not at all."""

    def task(job: Job) -> None:
        with OPENERS[library](database_url) as application, join(application):
            application.execute(WRITE)
            job_complete_tx(job)
            if commits:
                application.commit()
            else:
                application.rollback()
                raise ValueError("after the transaction")

    attempt = Attempt(driver, task)
    state = JobState.COMPLETED if commits else JobState.AVAILABLE
    assert (attempt.row.state, attempt.application_rows) == (state, int(commits))
    errors = [] if commits else ["after the transaction"]
    assert [error.error for error in attempt.row.errors] == errors


def test_rollback_and_raise(driver: Driver, database_url: str) -> None:
    """Checklist 104. The attempt fails and is retried; the application's write is gone."""
    attempt = Attempt(driver, completing(database_url, commits=False, raises=True))
    assert attempt.kinds == [EventKind.JOB_FAILED]
    assert (attempt.row.state, attempt.application_rows) == (JobState.AVAILABLE, 0)
    assert [error.error for error in attempt.row.errors] == ["after the transaction"]


def test_rollback_and_return(driver: Driver, database_url: str) -> None:
    """Checklist 104. The worker completes the job as any other, metadata included."""
    attempt = Attempt(driver, completing(database_url, commits=False))
    assert attempt.kinds == [EventKind.JOB_COMPLETED]
    assert (attempt.row.state, attempt.application_rows) == (JobState.COMPLETED, 0)
    assert (attempt.row.metadata["before"], attempt.row.metadata["after"]) == (1, 2)


def test_an_error_after_the_commit(driver: Driver, database_url: str) -> None:
    """Checklist 106. State and errors stay as they are; late metadata is merged."""
    attempt = Attempt(driver, completing(database_url, raises=True))
    assert attempt.kinds == [EventKind.JOB_COMPLETED]
    assert (attempt.row.state, attempt.row.errors) == (JobState.COMPLETED, [])
    assert attempt.row.metadata["after"] == 2


def test_by_the_connection(driver: Driver, database_url: str) -> None:
    """The connection can be given instead of joined."""

    def task(job: Job) -> None:
        with application_connection(database_url) as connection:
            connection.execute(WRITE)
            job_complete_tx(job, connection)
            connection.commit()

    attempt = Attempt(driver, task)
    assert (attempt.row.state, attempt.application_rows) == (JobState.COMPLETED, 1)


def refused(driver: Driver, database_url: str, before: Callable[[Job], Any], **options: Any) -> BaseException:
    """Return what `job_complete_tx` raises after `before`; the connection is rolled back then."""
    caught: list[BaseException] = []

    def task(job: Job) -> None:
        before(job)
        with application_connection(database_url, **options) as connection, join(connection):
            try:
                job_complete_tx(job)
            except (RiverError, JobCancelError) as error:
                caught.append(error)
                connection.rollback()

    with running(driver, registry(one=task)):
        insert(driver, "one")
        return wait_for(lambda: caught, "the refusal")[0]  # type: ignore[no-any-return]  # the first of the list


def test_a_pending_cancel(driver: Driver, database_url: str) -> None:
    """Checklist 105. The mark in the row raises the cancel, so that the transaction is rolled back."""
    error = refused(driver, database_url, lambda job: Client(driver).job_cancel(job.row.id))
    assert isinstance(error, JobCancelError)
    assert str(error) == "JobCancelError: job cancelled remotely"


def test_without_a_transaction(driver: Driver, database_url: str) -> None:
    """Checklist 105. A connection that commits each statement is refused, and so is none at all."""
    options = {"autocommit": True} if database_url.startswith("postgres") else {"isolation_level": None}
    assert "open transaction" in str(refused(driver, database_url, lambda job: None, **options))
    caught: list[RiverError] = []

    def task(job: Job) -> None:
        try:
            job_complete_tx(job)
        except RiverError as error:
            caught.append(error)
            assert row(driver, job.row.id).state is JobState.RUNNING

    with running(driver, registry(one=task)):
        insert(driver, "one")
        wait_for(lambda: caught, "the refusal")


def test_a_missing_row(driver: Driver, database_url: str) -> None:
    """Checklist 105. A row that is gone is not found."""
    error = refused(
        driver, database_url, lambda job: run(driver, f"DELETE FROM river_job WHERE id = {job.row.id}")
    )
    assert isinstance(error, NotFoundError)


def test_another_attempt(driver: Driver, database_url: str) -> None:
    """A row that is not this attempt any more is refused."""
    error = refused(
        driver,
        database_url,
        lambda job: run(driver, f"UPDATE river_job SET attempt = 2 WHERE id = {job.row.id}"),
    )
    assert "does not run in attempt 1" in str(error)


def test_outside_a_worker(driver: Driver) -> None:
    """A job that nobody runs is refused."""
    with pytest.raises(RiverError, match="not run by a worker"):
        job_complete_tx(Job(insert(driver, "one")))


def test_retried_between_commit_and_the_worker_s_end(driver: Driver, database_url: str) -> None:
    """Checklist 107. The replacement is untouched, and the first attempt gives no event."""
    gate = Gate()

    def task(job: Job) -> None:
        if job.row.attempt > 1:
            return
        with application_connection(database_url) as connection:
            job_complete_tx(job, connection)
            connection.commit()
        job.update_metadata({"late": 1})
        gate(job)
        raise ValueError("too late")

    with running(driver, registry(one=task, last=lambda job: None)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one")
        assert gate.began.wait(DEADLINE)
        client = Client(driver)
        client.queue_pause("default")
        assert next_event(events).kind is EventKind.QUEUE_PAUSED
        client.job_retry(job.id)
        gate.release.set()
        wait_for(lambda: worker.active == 0, "the end of the first attempt")
        assert row(driver, job.id).state is JobState.AVAILABLE
        client.queue_resume("default")
        assert next_event(events).kind is EventKind.QUEUE_RESUMED
        second = next_event(events)
        insert(driver, "last")
        third = next_event(events)
    assert (second.kind, third.kind) == (EventKind.JOB_COMPLETED, EventKind.JOB_COMPLETED)
    assert second.job is not None
    assert (second.job.id, second.job.attempt, second.job.errors) == (job.id, 2, [])
    assert "late" not in second.job.metadata


def test_deleted_between_commit_and_the_worker_s_end(driver: Driver, database_url: str) -> None:
    """The event has the row as it was at the commit."""

    def task(job: Job) -> None:
        with application_connection(database_url) as connection:
            job_complete_tx(job, connection)
            connection.commit()
        Client(driver).job_delete(job.row.id)

    with running(driver, registry(one=task)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one")
        event = next_event(events)
    assert event.kind is EventKind.JOB_COMPLETED
    assert event.job is not None
    assert (event.job.id, event.job.state) == (job.id, JobState.COMPLETED)
    assert states(driver, job.id) == ["gone"]


@pytest.mark.parametrize("commits", [True, False])
def test_finalize_hooks(driver: Driver, database_url: str, commits: bool) -> None:
    """Checklist 124. Not after a committed completion; as ever after a rolled back one."""
    asked = threading.Event()

    class Asking(Plugin):
        def job_finalize(self, job: Job, state: JobState) -> None:
            if job.row.kind == "one":
                asked.set()

    Attempt(driver, completing(database_url, commits=commits), plugins=(Asking(),))
    assert asked.is_set() is not commits


@pytest.mark.foreign_rows
@pytest.mark.postgres
@pytest.mark.parametrize("attempted_by", ["'[0:1]={a,b}'::text[]", "ARRAY[['a','b'],['c','d']]"])
def test_a_history_of_another_shape(postgres_driver: Driver, postgres_url: str, attempted_by: str) -> None:
    """The client of this attempt is the last one, wherever its array begins to count."""
    run(postgres_driver, CREATE)
    job = insert(postgres_driver, "one")
    with postgres_driver.connect() as connection:
        connection.run_script(f"UPDATE river_job SET attempted_by = {attempted_by} WHERE id = {job.id}")
    with running(postgres_driver, registry(one=completing(postgres_url))) as worker:
        wait_for(lambda: states(postgres_driver, job.id) == ["completed"], "the completion")
        wait_for(lambda: worker.active == 0, "the end of the attempt")
    assert row(postgres_driver, job.id).metadata["after"] == 2


@pytest.mark.foreign_rows
def test_a_time_that_cannot_be_read(sqlite_driver: Driver, sqlite_path: Path) -> None:
    """A stranger's text in a time does not keep the task from completing its row."""
    run(sqlite_driver, CREATE)
    job = insert(sqlite_driver, "one")
    with sqlite_driver.connect() as connection:
        connection.run_script(f"UPDATE river_job SET created_at = 'someday' WHERE id = {job.id}")
    with running(sqlite_driver, registry(one=completing(f"sqlite:///{sqlite_path}"))) as worker:
        wait_for(lambda: states(sqlite_driver, job.id) == ["completed"], "the completion")
        wait_for(lambda: worker.active == 0, "the end of the attempt")
    text = "SELECT json_extract(river_json(metadata), '$.after') FROM river_job"
    assert run(sqlite_driver, text) == [(2,)]
