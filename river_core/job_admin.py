"""What can be done with stored jobs, on one connection: read, list, cancel, retry, update, delete, count.

Each operation is one transaction, or part of the caller's. `river_core.client_jobs` offers them to users.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from river_core import steps, validation
from river_core.access import Session
from river_core.db import job_admin, job_lists, jobs
from river_core.db.statement import Statement
from river_core.job import JobRow, JobState
from river_core.job_list import JobDeleteManyParams, JobListParams, JobListResult
from river_core.job_update import JobUpdateParams
from river_core.parity import Parity
from river_core.steps import Steps, run


@dataclass(frozen=True, slots=True)
class QueueCount:
    """How many jobs of a queue wait to run now, and how many run."""

    queue: str
    available: int
    running: int


@dataclass(frozen=True, slots=True)
class JobAdmin:
    """The operations on stored jobs, bound to a session."""

    session: Session

    def get(self, job_id: int) -> JobRow:
        """Return a stored job; raises NotFoundError."""
        return run(self.session.connection, steps.job_get(self.session.sql, job_id))

    def page(self, params: JobListParams) -> JobListResult:
        """Return one page of jobs."""
        contained = self.session.parity is Parity.GO
        found = self._fetch_all(job_lists.job_list(self.session.sql, params, contained=contained))
        return JobListResult(found, params.cursor(found[-1]).encode() if found else None)

    def cancel(self, job_id: int) -> JobRow:
        """Cancel a job and tell the worker that runs it."""
        now = self.session.clock.now()
        return self._run(steps.job_cancel(self.session.sql, job_id, now, self.session.now))

    def retry(self, job_id: int) -> JobRow:
        """Make a job available now and wake the workers of its queue."""
        now = self.session.clock.now()
        retry = steps.job_retry_as_go if self.session.parity is Parity.GO else steps.job_retry
        return self._run(retry(self.session.sql, job_id, now, self.session.now))

    def update(self, job_id: int, params: JobUpdateParams) -> JobRow:
        """Set the columns that were given."""
        if not params.given():
            return self.get(job_id)
        statement = job_admin.job_update(self.session.sql, steps.checked_id(job_id), params)
        with self.session.connection.transaction():
            row = self._fetch(statement)
        if row is None:
            raise steps.not_found(job_id)
        return row

    def delete(self, job_id: int) -> JobRow:
        """Delete a job that does not run and return it."""
        return self._run(steps.job_delete(self.session.sql, job_id))

    def delete_many(self, params: JobDeleteManyParams) -> list[JobRow]:
        """Delete the jobs that are meant and do not run; returns them by id."""
        with self.session.connection.transaction():
            deleted = self._fetch_all(job_lists.job_delete_many(self.session.sql, params))
        return sorted(deleted, key=lambda row: row.id)

    def count_by_state(self) -> dict[JobState, int]:
        """Return the number of jobs in each of the eight states."""
        counted = self.session.connection.fetch(job_admin.job_count_by_all_states(self.session.sql))
        return {**dict.fromkeys(JobState, 0), **{JobState(state): count for state, count in counted}}

    def count_by_queue(self, queues: Collection[str]) -> list[QueueCount]:
        """Return the available and running jobs of each of the queues, by name."""
        names = sorted(set(validation.texts("queues", queues)))
        statement = job_admin.job_count_by_queue_and_state(self.session.sql, names)
        counted = {row[0]: QueueCount(*row) for row in self.session.connection.fetch(statement)}
        return [counted.get(name, QueueCount(name, 0, 0)) for name in names]

    def kinds(self, after: str, match: str, exclude: Collection[str], limit: int) -> list[str]:
        """Return the kinds of stored jobs, by name."""
        validation.texts("after and match", (after, match))
        statement = job_admin.job_kind_list(
            self.session.sql, after, match, validation.texts("exclude", exclude), validation.limit(limit)
        )
        return [row[0] for row in self.session.connection.fetch(statement)]

    def _fetch(self, statement: Statement) -> JobRow | None:
        rows = self._fetch_all(statement)
        return rows[0] if rows else None

    def _fetch_all(self, statement: Statement) -> list[JobRow]:
        return [jobs.decode_job(self.session.sql, row) for row in self.session.connection.fetch(statement)]

    def _run(self, job_steps: Steps[JobRow]) -> JobRow:
        with self.session.connection.transaction():
            return run(self.session.connection, job_steps)
