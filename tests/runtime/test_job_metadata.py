"""What a task leaves in its row: metadata and output, checked, copied and with every digit."""

from __future__ import annotations

import json
from typing import Any

import pytest

from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.errors import JobCancelError, JobInterruptedError, JobSnoozeError, ValidationError
from river_core.job import JobRow
from river_core.metadata import MAX_OUTPUT_BYTES
from river_core.outcome import Completed
from river_core.task import Job
from river_core.worker.events import EventKind
from tests.runtime.stored import run
from tests.runtime.workers import insert, next_event, registry, row, running

DIGITS = '{"big":123456789012345678901234567890,"exact":1.10,"tiny":1e-400}'
KEPT = ("123456789012345678901234567890", "1.10")


def worked(driver: Driver, function: Any, **options: Any) -> JobRow:
    """Work one job once and return the row that it left."""
    with running(driver, registry(one=function)) as worker:
        events = worker.events.subscribe()
        job = insert(driver, "one", **options)
        next_event(events)
    return row(driver, job.id)


@pytest.mark.parametrize(
    "signal",
    [None, ValueError("it broke"), JobSnoozeError(600), JobCancelError("enough"), JobInterruptedError()],
    ids=["success", "error", "snooze", "cancel", "interrupt"],
)
def test_updates_are_stored_with_every_outcome(driver: Driver, signal: BaseException | None) -> None:
    """Checklist 108. The last value of a key wins, however the attempt ends."""

    def task(job: Job) -> None:
        if "seen" not in job.row.metadata:
            job.update_metadata({"seen": 1, "again": 1})
            job.update_metadata({"again": 2})
            if signal is not None:
                raise signal

    metadata = worked(driver, task).metadata
    assert (metadata["seen"], metadata["again"]) == (1, 2)


@pytest.mark.parametrize(
    "updates", [{"river:log": []}, {"ok": 1, "bad": object()}, {"nan": float("nan")}, {"set": {1}}]
)
def test_what_is_refused(updates: dict[str, Any]) -> None:
    """Checklist 108. Reserved keys and what is no JSON raise at once, and nothing of the call is kept."""
    job = Job(None)  # type: ignore[arg-type]  # the row is not looked at
    with pytest.raises(ValidationError):
        job.update_metadata(updates)
    assert job.metadata_updates == {}


def test_values_are_copied() -> None:
    """A later change of the value, or of what was read, changes nothing."""
    job = Job(None)  # type: ignore[arg-type]  # the row is not looked at
    value = {"list": [1]}
    job.update_metadata({"value": value})
    job.record_output(value)
    value["list"].append(2)
    assert job.metadata_updates == {"value": {"list": [1]}, "output": {"list": [1]}}
    seen = job.metadata_updates
    job.record_output(None)
    assert seen["output"] == {"list": [1]}
    assert job.metadata_updates["output"] is None


def test_the_output_s_limit() -> None:
    """Checklist 109. 33,554,432 bytes of JSON pass, one more does not, and the older output stays."""
    job = Job(None)  # type: ignore[arg-type]  # the row is not looked at
    job.record_output("x" * (MAX_OUTPUT_BYTES - 2))
    with pytest.raises(ValidationError, match="33554432"):
        job.record_output("x" * (MAX_OUTPUT_BYTES - 1))
    with pytest.raises(ValidationError, match="33554432"):
        job.record_output("é" * (MAX_OUTPUT_BYTES // 2))
    assert len(job.metadata_updates["output"]) == MAX_OUTPUT_BYTES - 2


def test_text_that_postgres_refuses_is_cleaned(driver: Driver) -> None:
    """NUL and half of a surrogate pair become U+FFFD, in values and keys; a whole pair stays."""
    job = worked(driver, lambda job: job.record_output({"a\x00": ["b\ud800", "\U0001f600"]}))
    assert job.metadata["output"] == {"a\ufffd": ["b\ufffd", "\U0001f600"]}


def test_an_outcome_that_cannot_be_stored_fails_the_attempt(driver: Driver) -> None:
    """Checklist 110. The offending metadata is dropped, the error recorded, and other jobs go on."""
    job = worked(driver, lambda job: Completed({"bad": object()}))
    assert "not JSON serializable" in job.errors[0].error
    assert "bad" not in job.metadata


@pytest.mark.parametrize("signal", [None, JobSnoozeError(600), JobCancelError("enough")])
def test_digits_survive(driver: Driver, signal: BaseException | None) -> None:
    """Checklist 164. Numbers beyond 64 bits and floats stay as they were written, in args and metadata."""

    def task(job: Job) -> None:
        job.record_output({"big": 123456789012345678901234567890, "float": 0.1})
        if signal is not None:
            raise signal

    with running(driver, registry(one=task)) as worker:
        events = worker.events.subscribe()
        job_id = insert_text(driver)
        assert next_event(events).kind is not EventKind.JOB_FAILED
    job = row(driver, job_id)
    for text in (job.encoded_args, job.encoded_metadata):
        assert all(digits in text for digits in KEPT)
    assert job.metadata["output"] == {"big": 123456789012345678901234567890, "float": 0.1}


def insert_text(driver: Driver) -> int:
    """Insert a job whose JSON no Python value holds."""
    json.loads(DIGITS)
    if driver.sql.dialect is Dialect.POSTGRES:
        text = (
            "INSERT INTO river_job (args, kind, max_attempts, metadata)"
            " VALUES (@json::text::jsonb, 'one', 25, @json::text::jsonb) RETURNING id"
        )
    else:
        text = (
            "INSERT INTO river_job (args, kind, max_attempts, metadata, tags, created_at, scheduled_at)"
            " VALUES (jsonb(@json), 'one', 25, jsonb(@json), jsonb('[]'), @now, @now) RETURNING id"
        )
        return int(run(driver, text, json=DIGITS, now="2026-01-01 00:00:00.000")[0][0])
    return int(run(driver, text, json=DIGITS)[0][0])
