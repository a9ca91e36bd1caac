"""Unique jobs on both databases: which insert finds which row."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest

from river_core.client import Client
from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.errors import ValidationError
from river_core.insert import EncodedArgs, InsertManyParams, InsertOpts
from river_core.job import JobState
from river_core.unique import UniqueOpts
from tests.conformance.applications import every_library
from tests.conformance.raw_connections import count_jobs, fetch

ARGS = EncodedArgs("send_email", '{"account_id":7,"region":"eu"}')
BY_ARGS = UniqueOpts(by_args=True)
KEY = "c8448a04fa240ba7ff04c05259ff50cd6337ee4cf0c8200b32e0a0059016c444"

INSERTED_BY_GO = {
    Dialect.POSTGRES: """
INSERT INTO river_job (args, kind, max_attempts, unique_key, unique_states)
VALUES ('{"region": "eu", "account_id": 7}', 'send_email', 25, @key::bytea, B'11110101')
RETURNING id
""",
    Dialect.SQLITE: """
INSERT INTO river_job (
    args, kind, max_attempts, metadata, tags, created_at, scheduled_at, unique_key, unique_states
)
VALUES (
    jsonb('{"region":"eu","account_id":7}'), 'send_email', 25,
    jsonb('{"river:unique_nonce":"00112233aabbccdd"}'), jsonb('[]'),
    '2026-08-07 14:32:57.123', '2026-08-07 14:32:57.123', @key, 245
)
RETURNING id
""",
}
FINISH_ON_POSTGRES = """
UPDATE river_job SET state = @state::text::river_job_state, finalized_at = now() WHERE id = @id::bigint
"""
FINISH_ON_SQLITE = """
UPDATE river_job SET state = @state, finalized_at = strftime('%Y-%m-%d %H:%M:%f', 'now') WHERE id = @id
"""


def finish(driver: Driver, job_id: int, state: str) -> None:
    """Put a job into a final state."""
    update = FINISH_ON_POSTGRES if driver.sql.dialect is Dialect.POSTGRES else FINISH_ON_SQLITE
    fetch(driver, update, state=state, id=job_id)


@every_library
def test_the_second_insert_finds_the_first_row(driver: Driver, application: Any) -> None:
    """Checklist 41, 43. No second row; the holder stays as it is, whatever the second one's options."""
    client = Client(driver)
    first = client.insert_tx(application, ARGS, unique_opts=BY_ARGS)
    second = client.insert_tx(application, ARGS, unique_opts=BY_ARGS, queue="other", priority=4)
    application.commit()
    assert (first.unique_skipped_as_duplicate, second.unique_skipped_as_duplicate) == (False, True)
    assert second.unique_skipped_as_duplicated
    assert second.job == first.job == client.job_get(first.job.id)
    assert first.job.unique_key == bytes.fromhex(KEY)
    assert first.job.unique_states == 245
    assert (
        client.insert(EncodedArgs("send_email", '{"account_id":8}'), unique_opts=BY_ARGS).job.id
        != first.job.id
    )


def test_without_options_nothing_is_unique(driver: Driver) -> None:
    """Checklist 41. Both columns stay empty."""
    client = Client(driver)
    job = client.insert(ARGS).job
    assert (job.unique_key, job.unique_states) == (None, None)
    assert not client.insert(ARGS, unique_opts=UniqueOpts()).unique_skipped_as_duplicate


def test_another_kind_may_find_the_row_without_being_taken_for_it(driver: Driver) -> None:
    """Checklist 42, 43. With `exclude_kind` the holder keeps its kind and arguments."""
    opts = UniqueOpts(by_queue=True, exclude_kind=True)
    client = Client(driver)
    first = client.insert(ARGS, unique_opts=opts).job
    second = client.insert(EncodedArgs("other_kind", "{}"), unique_opts=opts)
    assert (second.unique_skipped_as_duplicate, second.job) == (True, first)
    assert client.job_get(first.id) == first


@pytest.mark.parametrize(
    ("state", "blocks"), [("completed", True), ("cancelled", False), ("discarded", False)]
)
def test_a_finished_holder_blocks_by_its_own_states(driver: Driver, state: str, blocks: bool) -> None:
    """Checklist 44. By default only a completed one, until it is deleted."""
    client = Client(driver)
    first = client.insert(ARGS, unique_opts=BY_ARGS).job
    finish(driver, first.id, state)
    assert client.insert(ARGS, unique_opts=BY_ARGS).unique_skipped_as_duplicate is blocks
    if blocks:
        client.job_delete(first.id)
        assert not client.insert(ARGS, unique_opts=BY_ARGS).unique_skipped_as_duplicate


def test_chosen_states_are_stored_with_the_row(driver: Driver) -> None:
    """A completed holder does not block when it was told not to."""
    opts = UniqueOpts(
        by_args=True, by_state=[JobState.AVAILABLE, JobState.PENDING, JobState.RUNNING, JobState.SCHEDULED]
    )
    client = Client(driver)
    first = client.insert(ARGS, unique_opts=opts).job
    assert first.unique_states == 1 + 16 + 64 + 128
    finish(driver, first.id, "completed")
    assert not client.insert(ARGS, unique_opts=opts).unique_skipped_as_duplicate


RETRYABLE_ON_POSTGRES = "UPDATE river_job SET state = 'retryable', attempt = 1 WHERE id = @id::bigint"
RETRYABLE_ON_SQLITE = "UPDATE river_job SET state = 'retryable', attempt = 1 WHERE id = @id"


@pytest.mark.parametrize(
    "states", [None, sorted(set(JobState) - {JobState.RETRYABLE})], ids=["default", "without"]
)
def test_a_job_that_waits_for_its_retry(driver: Driver, states: list[JobState] | None) -> None:
    """Checklist 46. It lets a second one in only where `retryable` was left out on purpose."""
    client = Client(driver)
    opts = UniqueOpts(by_args=True, by_state=states)
    first = client.insert(ARGS, unique_opts=opts).job
    is_postgres = driver.sql.dialect is Dialect.POSTGRES
    fetch(driver, RETRYABLE_ON_POSTGRES if is_postgres else RETRYABLE_ON_SQLITE, id=first.id)
    second = client.insert(ARGS, unique_opts=opts)
    assert second.unique_skipped_as_duplicate is (states is None)
    assert count_jobs(driver) == (1 if states is None else 2)


def test_states_alone_make_a_kind_unique(driver: Driver) -> None:
    """Checklist 42. One of the kind, whatever its arguments and queue; other kinds are free."""
    client = Client(driver)
    opts = UniqueOpts(by_state=list(JobState))
    first = client.insert(ARGS, unique_opts=opts)
    again = client.insert(EncodedArgs("send_email", "{}"), queue="other", unique_opts=opts)
    other = client.insert(EncodedArgs("other_kind", "{}"), unique_opts=opts)
    assert first.job.unique_key == hashlib.sha256(b"&kind=send_email").digest()
    assert (again.job, again.unique_skipped_as_duplicate) == (first.job, True)
    assert not other.unique_skipped_as_duplicate


def test_the_mask_is_stored_in_rivers_form(driver: Driver) -> None:
    """Checklist 41. Eight bits, the state `scheduled` first, or a whole number; the key is bytes."""
    Client(driver).insert(ARGS, unique_opts=BY_ARGS)
    if driver.sql.dialect is Dialect.POSTGRES:
        stored = fetch(driver, "SELECT unique_states::text, length(unique_key) FROM river_job")
        assert [tuple(row) for row in stored] == [("11110101", 32)]
    else:
        columns = "unique_states, typeof(unique_states), typeof(unique_key), length(unique_key)"
        stored = fetch(driver, f"SELECT {columns} FROM river_job")
        assert [tuple(row) for row in stored] == [(245, "integer", "blob", 32)]


def test_a_batch_that_repeats_a_key_writes_nothing(driver: Driver) -> None:
    """Checklist 45. The text names both places."""
    unique = InsertOpts(unique_opts=BY_ARGS)
    batch = [InsertManyParams(ARGS), InsertManyParams(ARGS, unique), InsertManyParams(ARGS, unique)]
    with pytest.raises(ValidationError, match="jobs 1 and 2"):
        Client(driver).insert_many(batch)
    assert count_jobs(driver) == 0


def test_the_period_is_that_of_the_scheduled_time(driver: Driver) -> None:
    """Checklist 39. Two jobs of one hour are the same, two of neighbouring hours are not."""
    client = Client(driver)
    opts = UniqueOpts(by_period=3600)
    times = [(3, 4), (3, 59), (4, 0)]
    moments = [datetime(2030, 1, 2, hour, minute, tzinfo=UTC) for hour, minute in times]
    results = [client.insert(ARGS, unique_opts=opts, scheduled_at=moment) for moment in moments]
    assert [result.unique_skipped_as_duplicate for result in results] == [False, True, False]
    assert (
        results[0].job.unique_key == hashlib.sha256(b"&kind=send_email&period=2030-01-02T03:00:00Z").digest()
    )


def test_a_class_may_ask_for_uniqueness_and_a_call_for_another(driver: Driver) -> None:
    """Options of the call replace those of the class as a whole."""

    class OncePerQueue(EncodedArgs):
        """Arguments that are unique in their queue."""

        def insert_opts(self) -> InsertOpts:
            """Return the class's options."""
            return InsertOpts(unique_opts=UniqueOpts(by_queue=True))

    client = Client(driver)
    args = OncePerQueue("send_email", ARGS.text)
    by_class = client.insert(args).job
    assert by_class.unique_key == hashlib.sha256(b"&kind=send_email&queue=default").digest()
    assert client.insert(args, unique_opts=BY_ARGS).job.unique_key == bytes.fromhex(KEY)


def test_a_row_that_go_inserted_is_found(driver: Driver) -> None:
    """Checklist 48. The key is spelled alike, on SQLite beside Go's own nonce."""
    insert = INSERTED_BY_GO[driver.sql.dialect]
    held = fetch(driver, insert, key=bytes.fromhex(KEY))[0][0]
    before = Client(driver).job_get(held)
    result = Client(driver).insert(ARGS, unique_opts=BY_ARGS)
    assert (result.job, result.unique_skipped_as_duplicate) == (before, True)
    assert count_jobs(driver) == 1
