"""The calls of a client that act on stored jobs; `river_core.client.Client` inherits them.

A call runs in the transaction of the connection given to `river_core.join`, where there is one, else in
one of its own. Its sibling that ends in `_tx` runs in the open transaction of the connection that it is
given, which the caller commits; it does and raises the same.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from river_core import job_admin
from river_core.access import Access
from river_core.job import JobRow, JobState
from river_core.job_admin import QueueCount
from river_core.job_list import LIMIT_DEFAULT, JobDeleteManyParams, JobListParams, JobListResult
from river_core.job_update import JobUpdateParams
from river_core.keywords import options


class JobCalls:
    """Reads, lists, cancels, retries, updates, deletes and counts stored jobs."""

    _access: Access

    def job_get(self, job_id: int) -> JobRow:
        """Return a stored job (River: JobGet); raises NotFoundError."""
        return self._access.run(job_admin.get(job_id))

    def job_get_tx(self, connection: Any, job_id: int) -> JobRow:
        """Do as `job_get` in the transaction of `connection` (River: JobGetTx)."""
        return self._access.run_on(connection, job_admin.get(job_id))

    def job_list(self, params: JobListParams | None = None, /, **fields: Any) -> JobListResult:
        """Return one page of jobs, with parameters as an object or as keywords (River: JobList).

        >>> page = client.job_list(states=["discarded"], limit=50)  # doctest: +SKIP
        >>> page = client.job_list(states=["discarded"], limit=50, after=page.last_cursor)  # doctest: +SKIP

        Raises ValidationError, as JobListParams does.
        """
        params = options(JobListParams, params, fields)
        return self._access.run(job_admin.page(params))

    def job_list_tx(
        self, connection: Any, params: JobListParams | None = None, /, **fields: Any
    ) -> JobListResult:
        """Do as `job_list` in the transaction of `connection` (River: JobListTx)."""
        return self._access.run_on(connection, job_admin.page(options(JobListParams, params, fields)))

    def job_cancel(self, job_id: int) -> JobRow:
        """Cancel a job; one that runs is asked to stop, a finished one stays (River: JobCancel).

        Raises NotFoundError.
        """
        return self._access.run(job_admin.cancel(job_id))

    def job_cancel_tx(self, connection: Any, job_id: int) -> JobRow:
        """Do as `job_cancel` in the transaction of `connection` (River: JobCancelTx)."""
        return self._access.run_on(connection, job_admin.cancel(job_id))

    def job_retry(self, job_id: int) -> JobRow:
        """Make a job available now, with an attempt left; one that runs or is due stays (River: JobRetry).

        Raises NotFoundError, UniqueConflictError where another job holds its unique key by now, and
        ValidationError where the last possible attempt is spent.
        """
        return self._access.run(job_admin.retry(job_id))

    def job_retry_tx(self, connection: Any, job_id: int) -> JobRow:
        """Do as `job_retry` in the transaction of `connection` (River: JobRetryTx)."""
        return self._access.run_on(connection, job_admin.retry(job_id))

    def job_update(self, job_id: int, params: JobUpdateParams | None = None, /, **fields: Any) -> JobRow:
        """Set columns of a job, with values as an object or as keywords (River: JobUpdate).

        >>> client.job_update(job.id, max_attempts=50, output={"rows": 3})  # doctest: +SKIP

        No rule of the state machine is checked but the database's own: that a final state comes with
        `finalized_at`, and no other does. Raises NotFoundError, ValidationError as JobUpdateParams does,
        or RejectedValueError.
        """
        params = options(JobUpdateParams, params, fields)
        return self._access.run(job_admin.update(job_id, params))

    def job_update_tx(
        self, connection: Any, job_id: int, params: JobUpdateParams | None = None, /, **fields: Any
    ) -> JobRow:
        """Do as `job_update` in the transaction of `connection` (River: JobUpdateTx)."""
        return self._access.run_on(
            connection, job_admin.update(job_id, options(JobUpdateParams, params, fields))
        )

    def job_delete(self, job_id: int) -> JobRow:
        """Delete a job and return it (River: JobDelete).

        Raises NotFoundError, or JobRunningError while it runs.
        """
        return self._access.run(job_admin.delete(job_id))

    def job_delete_tx(self, connection: Any, job_id: int) -> JobRow:
        """Do as `job_delete` in the transaction of `connection` (River: JobDeleteTx)."""
        return self._access.run_on(connection, job_admin.delete(job_id))

    def job_delete_many(self, params: JobDeleteManyParams | None = None, /, **fields: Any) -> list[JobRow]:
        """Delete the jobs that pass the filters, up to `limit`, and return them by id (River: JobDeleteMany).

        Running jobs stay, and so do those that somebody else works on at this moment. Raises
        ValidationError without a filter, unless `unsafe_all=True` says that every job is meant.
        """
        params = options(JobDeleteManyParams, params, fields)
        return self._access.run(job_admin.delete_many(params))

    def job_delete_many_tx(
        self, connection: Any, params: JobDeleteManyParams | None = None, /, **fields: Any
    ) -> list[JobRow]:
        """Do as `job_delete_many` in the transaction of `connection` (River: JobDeleteManyTx)."""
        return self._access.run_on(
            connection, job_admin.delete_many(options(JobDeleteManyParams, params, fields))
        )

    def job_count_by_state(self) -> dict[JobState, int]:
        """Return the number of jobs in each state, 0 included (River UI: JobCountByAllStates)."""
        return self._access.run(job_admin.count_by_state())

    def job_count_by_queue(self, queues: Collection[str]) -> list[QueueCount]:
        """Count the available and the running jobs of each queue, 0 included, by name.

        River UI: JobCountByQueueAndState.
        """
        return self._access.run(job_admin.count_by_queue(queues))

    def job_kind_list(
        self, *, after: str = "", match: str = "", exclude: Collection[str] = (), limit: int = LIMIT_DEFAULT
    ) -> list[str]:
        """Return the kinds of stored jobs, each once, by name (River UI: JobKindList).

        Up to `limit`, 1 to 10,000, that come behind `after`, contain `match` in upper or lower case, and
        are not in `exclude`.
        """
        return self._access.run(job_admin.kinds(after, match, exclude, limit))
