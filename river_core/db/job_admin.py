"""Statements that change a job by hand and count jobs, as user interfaces need them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from river_core.db.statement import Sql, Statement
from river_core.job_update import JobUpdateParams


def job_update(sql: Sql, job_id: int, params: JobUpdateParams) -> Statement:
    """Set the columns of a job that were given (River: JobUpdateFull)."""
    changes = params.encoded()
    given = params.given()
    for name in ("attempted_at", "finalized_at"):
        if name in given:
            changes[name] = json.dumps(sql.time(given[name]))
    members = ",".join(f"{json.dumps(name)}:{text}" for name, text in changes.items())
    return sql.statement("job_update", id=job_id, changes=f"{{{members}}}")


def job_count_by_all_states(sql: Sql) -> Statement:
    """Count the jobs of each state that has any (River: JobCountByAllStates)."""
    return sql.statement("job_count_by_all_states")


def job_count_by_queue_and_state(sql: Sql, queues: Iterable[str]) -> Statement:
    """Count available and running jobs of the queues that have any (River: JobCountByQueueAndState)."""
    return sql.statement("job_count_by_queue_and_state", queues=sql.array(queues))


def job_kind_list(sql: Sql, after: str, match: str, exclude: Iterable[str], limit: int) -> Statement:
    """List the kinds of stored jobs by name (River: JobKindList)."""
    return sql.statement("job_kind_list", after=after, match=match, exclude=sql.array(exclude), limit=limit)
