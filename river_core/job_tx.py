"""What a running job writes into its own row inside a transaction: its completion, its checkpoints.

Whether the transaction was committed is told, when the attempt ends, by looking at the row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from river_core.client import Client
from river_core.db import job_tx, jobs
from river_core.db.job_tx import AttemptKey
from river_core.drivers.base import Connection, Driver
from river_core.errors import JobCancelError, NotFoundError, RiverError
from river_core.job import JobRow, JobState
from river_core.json_text import merge_objects, top_level
from river_core.resumable import NO_CURSOR
from river_core.task import Job

CANCEL_MARK = "cancel_attempted_at"
REMOTE_CANCEL = "job cancelled remotely"
NEVER_CLAIMED = (
    ": a job that was made up for a test is in no database; insert it, and work it by "
    "river_core.testing.TestWorker"
)


@dataclass(frozen=True, slots=True)
class CompletedRow:
    """A row that `job_complete_tx` has written, and the metadata updates that went with it."""

    row: JobRow
    metadata: Mapping[str, Any]
    driver: Driver

    def look(self) -> JobRow | None:
        """Read the row as it is committed now."""
        return _read(self.driver, self.row.id)


def job_complete_tx(job: Job, connection: Any = None) -> JobRow:
    """Complete the running job inside a transaction of the application (River: JobCompleteTx).

    In that of `connection`, or of the one given to `river_core.join`. Returns the completed row; the
    worker leaves it alone if the transaction is committed, and ends the job as ever if it is rolled back.

    Raises RiverError outside a worker, without an open transaction, and when the row is not this attempt
    any more; NotFoundError when it is gone; JobCancelError when it was cancelled, so that the
    transaction is rolled back. Nothing is written then.
    """
    client, key = _client(job), _key(job)
    sql = client.driver.sql
    with _transaction(client.driver, connection) as adopted:
        stored = _locked(adopted, client.driver, key)
        if CANCEL_MARK in top_level(stored):
            raise JobCancelError(REMOTE_CANCEL)
        updates = job.metadata_updates
        merged = merge_objects(stored, _text(updates))
        written = adopted.fetch(job_tx.job_complete_attempt(sql, key, client.clock.now(), merged))
        if not written:
            raise _moved_on(key)
        row = jobs.decode_claimed_job(sql, written[0])
    job.use_powers().completion = CompletedRow(row, updates, client.driver)
    return row


def job_checkpoint(job: Job, *, cursor: Any = NO_CURSOR, connection: Any = None) -> None:
    """Store now how far the current step has come (River: ResumableSetStepTx, ResumableSetStepCursorTx).

    With `cursor=` a retry runs the step again from there; without, it skips the step. Written in the
    transaction of `connection`, or of `river_core.join`, if there is one, and then forgotten if that is
    rolled back; else at once. Raises ResumableError outside a step, and as `job_complete_tx` does.
    """
    client, key, steps = _client(job), _key(job), job.steps
    progress = steps.after_checkpoint(cursor)
    updates = _text(steps.metadata(progress))
    borrowed = client.driver.ambient() if connection is None else client.driver.adopt(connection)
    if borrowed is not None and borrowed.in_transaction:
        with borrowed.transaction():
            _write_metadata(borrowed, client.driver, key, updates)
        steps.keep(progress, lambda: _read(client.driver, key.job_id))
        return
    with client.driver.connect() as own, own.transaction():
        _write_metadata(own, client.driver, key, updates)
    steps.keep(progress, None)


def _write_metadata(connection: Connection, driver: Driver, key: AttemptKey, updates: str) -> None:
    merged = merge_objects(_locked(connection, driver, key), updates)
    if not connection.fetch(job_tx.job_set_attempt_metadata(driver.sql, key, merged)):
        raise _moved_on(key)


def _client(job: Job) -> Client:
    if not isinstance(job.client, Client):
        raise RiverError(f"job {job.row.id} is not run by a worker, so it cannot be written from inside")
    return job.client


def _key(job: Job) -> AttemptKey:
    claimed_by = job.row.attempted_by
    return AttemptKey(job.row.id, job.row.attempt, claimed_by[-1] if claimed_by else "")


@contextmanager
def _transaction(driver: Driver, connection: Any) -> Iterator[Connection]:
    adopted = driver.ambient() if connection is None else driver.adopt(connection)
    if adopted is None or not adopted.in_transaction:
        raise RiverError(
            "a job is completed inside an open transaction: give its connection, or use river_core.join"
        )
    with adopted.transaction():
        yield adopted


def _locked(connection: Connection, driver: Driver, key: AttemptKey) -> str:
    """Lock the row of an attempt that still runs and return its metadata."""
    found = connection.fetch(job_tx.job_lock_attempt(driver.sql, key.job_id))
    if not found:
        raise NotFoundError(f"there is no job {key.job_id}{'' if key.client_id else NEVER_CLAIMED}")
    state, attempt, claimed_by, metadata = found[0]
    if (state, attempt, claimed_by) != (JobState.RUNNING.value, key.attempt, key.client_id):
        raise _moved_on(key)
    return str(metadata)


def _moved_on(key: AttemptKey) -> RiverError:
    return RiverError(f"job {key.job_id} does not run in attempt {key.attempt} of this worker any more")


def _text(updates: Mapping[str, Any]) -> str:
    return json.dumps(dict(updates), allow_nan=False)


def _read(driver: Driver, job_id: int) -> JobRow | None:
    with driver.connect() as connection:
        rows = connection.fetch(jobs.job_get_by_id(driver.sql, job_id))
    return jobs.decode_claimed_job(driver.sql, rows[0]) if rows else None
