"""Statements of the test helpers: what is there, what is to be worked next, and the claim of one job."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from river_core.db.statement import Sql, Statement


def job_get_by_kind_many(sql: Sql, kinds: Iterable[str]) -> Statement:
    """Read all jobs of some kinds in order of id (River: JobGetByKindMany)."""
    return sql.statement("job_get_by_kind_many", kinds=sql.array(kinds))


def job_count_by_kind(sql: Sql, limit: int) -> Statement:
    """Count the jobs of each kind, of the `limit` most frequent ones."""
    return sql.statement("job_count_by_kind", limit=limit)


def job_next_to_work(
    sql: Sql, queue: str | None, kinds: Iterable[str] | None, at: datetime, now: datetime | None
) -> Statement:
    """Ask for the id of the first due job; `now` is a test's own clock, `at` the client's."""
    return sql.statement(
        "job_next_to_work",
        queue=queue,
        kinds=None if kinds is None else sql.array(kinds),
        at=sql.time(at),
        now=sql.time(now),
    )


def job_start(sql: Sql, job_id: int, client_id: str, now: datetime | None) -> Statement:
    """Claim one job for `client_id` as a worker would; decode the rows by `work.decode_claim`."""
    return sql.statement("job_start", id=job_id, client_id=client_id, now=sql.time(now), queue="", limit=0)
