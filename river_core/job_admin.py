"""What can be done with stored jobs: read, list, cancel, retry, update, delete, count.

`river_core.client_jobs` offers these actions to users, `river_core.aio_jobs` to coroutines.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from river_core import steps, validation
from river_core.actions import Setting, one_statement, one_transaction
from river_core.db import job_admin, job_lists, jobs
from river_core.drivers.base import Row
from river_core.job import JobRow, JobState
from river_core.job_list import JobDeleteManyParams, JobListParams, JobListResult
from river_core.job_update import JobUpdateParams
from river_core.parity import Parity
from river_core.steps import Steps


@dataclass(frozen=True, slots=True)
class QueueCount:
    """How many jobs of a queue wait to run now, and how many run."""

    queue: str
    available: int
    running: int


@one_statement
def get(setting: Setting, job_id: int) -> Steps[JobRow]:
    """Return a stored job; raises NotFoundError."""
    return (yield from steps.job_get(setting.sql, job_id))


@one_statement
def page(setting: Setting, params: JobListParams) -> Steps[JobListResult]:
    """Return one page of jobs."""
    contained = setting.parity is Parity.GO
    rows = yield job_lists.job_list(setting.sql, params, contained=contained)
    found = _decoded(setting, rows)
    return JobListResult(found, params.cursor(found[-1]).encode() if found else None)


@one_transaction
def cancel(setting: Setting, job_id: int) -> Steps[JobRow]:
    """Cancel a job and tell the worker that runs it."""
    return (yield from steps.job_cancel(setting.sql, job_id, setting.clock.now(), setting.now))


@one_transaction
def retry(setting: Setting, job_id: int) -> Steps[JobRow]:
    """Make a job available now and wake the workers of its queue."""
    retried = steps.job_retry_as_go if setting.parity is Parity.GO else steps.job_retry
    return (yield from retried(setting.sql, job_id, setting.clock.now(), setting.now))


@one_transaction
def update(setting: Setting, job_id: int, params: JobUpdateParams) -> Steps[JobRow]:
    """Set the columns that were given."""
    if not params.given():
        return (yield from steps.job_get(setting.sql, job_id))
    rows = yield job_admin.job_update(setting.sql, steps.checked_id(job_id), params)
    if not rows:
        raise steps.not_found(job_id)
    return jobs.decode_job(setting.sql, rows[0])


@one_transaction
def delete(setting: Setting, job_id: int) -> Steps[JobRow]:
    """Delete a job that does not run and return it."""
    return (yield from steps.job_delete(setting.sql, job_id))


@one_transaction
def delete_many(setting: Setting, params: JobDeleteManyParams) -> Steps[list[JobRow]]:
    """Delete the jobs that are meant and do not run; returns them by id."""
    deleted = _decoded(setting, (yield job_lists.job_delete_many(setting.sql, params)))
    return sorted(deleted, key=lambda row: row.id)


@one_statement
def count_by_state(setting: Setting) -> Steps[dict[JobState, int]]:
    """Return the number of jobs in each of the eight states."""
    counted = yield job_admin.job_count_by_all_states(setting.sql)
    return {**dict.fromkeys(JobState, 0), **{JobState(state): count for state, count in counted}}


@one_statement
def count_by_queue(setting: Setting, queues: Collection[str]) -> Steps[list[QueueCount]]:
    """Return the available and running jobs of each of the queues, by name."""
    names = sorted(set(validation.texts("queues", queues)))
    rows = yield job_admin.job_count_by_queue_and_state(setting.sql, names)
    counted = {row[0]: QueueCount(*row) for row in rows}
    return [counted.get(name, QueueCount(name, 0, 0)) for name in names]


@one_statement
def kinds(setting: Setting, after: str, match: str, exclude: Collection[str], limit: int) -> Steps[list[str]]:
    """Return the kinds of stored jobs, by name."""
    validation.texts("after and match", (after, match))
    rows = yield job_admin.job_kind_list(
        setting.sql, after, match, validation.texts("exclude", exclude), validation.limit(limit)
    )
    return [row[0] for row in rows]


def _decoded(setting: Setting, rows: Sequence[Row]) -> list[JobRow]:
    return [jobs.decode_job(setting.sql, row) for row in rows]
