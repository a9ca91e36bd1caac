"""`job.logger` ends up in the row, one entry an attempt, whatever the attempt's outcome."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from river_core import PersistedLogs
from river_core.drivers.base import Driver
from river_core.errors import JobInterruptedError
from river_core.job import JobRow
from river_core.job_tx import job_complete_tx
from river_core.joblog import LOG_KEY, LogWriter
from river_core.task import Job, Task
from river_core.worker.events import EventKind
from tests.conformance.raw_connections import application_connection
from tests.runtime.stored import put
from tests.runtime.workers import insert, next_event, registry, row, running


class Soon(Task):
    """A task of kind `one` that is retried at once."""

    kind = "one"

    def __init__(self, function: Callable[[Job], Any]) -> None:
        self.function = function

    def next_retry(self, job: JobRow, error: BaseException) -> datetime:
        return datetime.now(UTC) + timedelta(milliseconds=50)

    def work(self, job: Job) -> None:
        self.function(job)


def bare(writer: LogWriter) -> logging.Logger:
    """A logger that writes the message alone."""
    logger = logging.Logger("bare", logging.INFO)
    logger.addHandler(logging.StreamHandler(writer))
    return logger


def test_one_entry_per_attempt_that_logged(driver: Driver) -> None:
    """Checklist 119. Appended across retries, none for an attempt that logged nothing."""

    def task(job: Job) -> None:
        if job.row.attempt != 2:
            job.logger.info("attempt %d", job.row.attempt)
            job.logger.debug("below the level")
        if job.row.attempt < 3:
            raise ValueError("again")

    with running(driver, registry(other=task).add(Soon(task)), plugins=(PersistedLogs(),)) as worker:
        done = worker.events.subscribe(EventKind.JOB_COMPLETED)
        job = insert(driver, "one", metadata={"kept": 1})
        next_event(done)
    metadata = row(driver, job.id).metadata
    assert metadata["kept"] == 1
    assert [entry["attempt"] for entry in metadata[LOG_KEY]] == [1, 3]
    assert [entry["log"].endswith(f"INFO attempt {entry['attempt']}\n") for entry in metadata[LOG_KEY]] == [
        True,
        True,
    ]


@pytest.mark.parametrize("signal", [None, ValueError("it broke"), JobInterruptedError()])
def test_stored_with_every_outcome(driver: Driver, signal: BaseException | None) -> None:
    """Checklist 119. Success, failure and interruption keep the log."""

    def task(job: Job) -> None:
        if LOG_KEY not in job.row.metadata:
            job.logger.info("hello")
            if signal is not None:
                raise signal

    plugin = PersistedLogs(logger_factory=bare)
    with running(driver, registry(one=task), plugins=(plugin,)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one")
        next_event(events)
    assert row(driver, job.id).metadata[LOG_KEY][0] == {"attempt": 1, "log": "hello\n"}


def test_nothing_is_stored_when_nothing_was_logged(driver: Driver) -> None:
    """Checklist 119. There is no key."""
    with running(driver, registry(one=lambda job: None), plugins=(PersistedLogs(),)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one")
        next_event(events)
    assert LOG_KEY not in row(driver, job.id).metadata


def test_caps(driver: Driver) -> None:
    """Checklist 120. The attempt's text is cut, old entries go, the new one stays although it is over."""

    def task(job: Job) -> None:
        job.logger.info("a\x00" * 100)

    plugin = PersistedLogs(max_size_bytes=40, max_total_bytes=50, logger_factory=bare)
    with running(driver, registry(one=task), plugins=(plugin,)) as worker:
        events = worker.events.subscribe()
        job_id = put(driver, kind="one", metadata={LOG_KEY: [{"attempt": 1, "log": "old"}]})
        next_event(events)
    assert row(driver, job_id).metadata[LOG_KEY] == [{"attempt": 1, "log": "a" * 40}]


def test_a_value_that_is_no_array_is_left_alone(driver: Driver) -> None:
    """Checklist 120. Somebody else's value stays, and the worker's log says so."""
    with running(
        driver, registry(one=lambda job: job.logger.info("x")), plugins=(PersistedLogs(),)
    ) as worker:
        events = worker.events.subscribe()
        job_id = put(driver, kind="one", metadata={LOG_KEY: {"mine": 1}})
        assert next_event(events).kind is EventKind.JOB_COMPLETED
    assert row(driver, job_id).metadata[LOG_KEY] == {"mine": 1}


def test_without_the_plugin(driver: Driver) -> None:
    """`job.logger` raises an error that names the plugin."""
    with running(driver, registry(one=lambda job: job.logger.info("x"))) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one")
        assert next_event(events).kind is EventKind.JOB_FAILED
    assert "PersistedLogs" in row(driver, job.id).errors[0].error


def test_after_job_complete_tx(driver: Driver, database_url: str) -> None:
    """Checklist 106. The log is merged into the row that the task has completed itself."""

    def task(job: Job) -> None:
        with application_connection(database_url) as connection:
            job_complete_tx(job, connection)
            connection.commit()
        job.logger.info("after the commit")

    plugin = PersistedLogs(logger_factory=bare)
    with running(driver, registry(one=task), plugins=(plugin,)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one")
        assert next_event(events).kind is EventKind.JOB_COMPLETED
    assert row(driver, job.id).metadata[LOG_KEY] == [{"attempt": 1, "log": "after the commit\n"}]
