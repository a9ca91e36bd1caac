"""A job that was made up, to call a task's own code with (River: rivertest.WorkContext)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from river_core.client import Client
from river_core.deferring import deferred_results
from river_core.insert import InsertOpts, JobArgs
from river_core.job import JobState
from river_core.keywords import options
from river_core.task import Job


def work_context(client: Client, args: JobArgs, insert_opts: InsertOpts | None = None, /, **opts: Any) -> Job:
    """Return the handle that a task would get for a job of these arguments, in its first attempt.

    `job.client` is `client`. The job is in no database, its id is 0: what writes the row of a running job,
    as `job_complete_tx` does, raises NotFoundError. Raises as `Client.insert` for arguments and options.
    """
    now = client.clock.now()
    params = client.row_to_insert(args, options(InsertOpts, insert_opts, opts), now)
    [result] = deferred_results([params], now)
    return Job(replace(result.job, state=JobState.RUNNING, attempt=1, attempted_at=now), client)
