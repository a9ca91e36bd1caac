"""How the databases find the jobs of a list: by an index where one fits, on a table with many jobs."""

from __future__ import annotations

from typing import Any

import pytest

from river_core.client import Client
from river_core.db.job_lists import job_delete_many, job_list
from river_core.db.statement import Statement
from river_core.drivers.base import Driver
from river_core.job_list import JobDeleteManyParams, JobListParams
from tests.runtime.stored import run

SEED_POSTGRES = (
    """
    INSERT INTO river_job (kind, args, max_attempts, metadata, state, finalized_at)
    SELECT 'kind_' || n % 50, '{}', 25, jsonb_build_object('n', n), 'completed', now() - n * interval '1 s'
    FROM generate_series(1, 10000) AS n
    """,
    """
    INSERT INTO river_job (kind, args, max_attempts, state)
    SELECT 'rare', '{}', 25, 'retryable' FROM generate_series(1, 20)
    """,
    "ANALYZE river_job",
)
INDEXES_ON_POSTGRES: list[tuple[dict[str, Any], str]] = [
    ({}, "Index Scan using river_job_pkey"),
    ({"direction": "desc"}, "Index Scan Backward using river_job_pkey"),
    ({"after_id": 9000}, "Index Cond: (id > '9000'::bigint)"),
    ({"after_id": 9000, "direction": "desc"}, "Index Cond: (id < '9000'::bigint)"),
    ({"ids": [7, 9]}, "Index Cond: (id = ANY"),
    ({"states": ["completed"]}, "Index Scan using river_job_pkey"),
    ({"states": ["completed"], "after_id": 9000}, "Index Cond: (id > '9000'::bigint)"),
    ({"states": ["retryable"]}, "Index Cond: (state = ANY"),
    ({"states": ["retryable"], "direction": "desc"}, "Index Cond: (state = ANY"),
    ({"states": ["retryable"], "order_by": "time"}, "Index Cond: (state = ANY"),
    ({"kinds": ["rare"], "order_by": "scheduled_at"}, "Index Cond: (kind = ANY"),
    ({"metadata": {"n": 7}}, "Bitmap Index Scan on river_job_metadata_index"),
]
BY_ROWID = "SEARCH river_job USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
INDEXES_ON_SQLITE: list[tuple[dict[str, Any], str]] = [
    ({}, BY_ROWID),
    ({"after_id": 900}, BY_ROWID),
    ({"ids": [7, 9]}, BY_ROWID),
    ({"ids": [7, 9], "states": ["completed"]}, BY_ROWID),
    ({"states": ["retryable"]}, "(state=?)"),
    ({"states": ["retryable"], "order_by": "time"}, "(state=?)"),
]


def plan(driver: Driver, statement: Statement, explain: str) -> str:
    """Return the plan of a statement, one step a line."""
    rows = run(driver, f"{explain} {statement.sql}", **dict(statement.parameters))
    return "\n".join(str(row[-1]) for row in rows)


@pytest.mark.postgres
def test_postgres_uses_an_index_where_one_fits(postgres_driver: Driver) -> None:
    """Checklist 147 and 150. Its planner sees what the parameters hold, and which filters are absent."""
    for sql in SEED_POSTGRES:
        run(postgres_driver, sql)
    for fields, expected in INDEXES_ON_POSTGRES:
        found = plan(postgres_driver, job_list(postgres_driver.sql, JobListParams(**fields)), "EXPLAIN")
        assert expected in found, f"{fields}\n{found}"
        assert "Seq Scan" not in found, f"{fields}\n{found}"
    statement = job_delete_many(postgres_driver.sql, JobDeleteManyParams(states=["retryable"]))
    assert "Index Cond: (state = ANY" in plan(postgres_driver, statement, "EXPLAIN")


@pytest.mark.postgres
def test_no_plan_of_a_list_is_kept(postgres_driver: Driver) -> None:
    """One plan for all parameters would read the whole table; other statements are prepared."""
    client = Client(postgres_driver)
    for _ in range(10):
        client.job_list(states=["retryable"])
        client.job_count_by_state()
    kept = [text for (text,) in run(postgres_driver, "SELECT statement FROM pg_prepared_statements")]
    assert any("GROUP BY state" in text for text in kept)
    assert not any("LIMIT" in text for text in kept)


@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_sqlite_is_led_to_an_index(sqlite_driver: Driver, direction: Any) -> None:
    """Checklist 147 and 150. By id nothing is sorted, so a page of a long table costs a page."""
    sql = sqlite_driver.sql
    for fields, expected in INDEXES_ON_SQLITE:
        params = JobListParams(**fields, direction=direction)
        found = plan(sqlite_driver, job_list(sql, params), "EXPLAIN QUERY PLAN")
        assert expected in found, f"{fields}\n{found}"
        assert "SCAN river_job" not in found, f"{fields}\n{found}"
        assert ("TEMP B-TREE FOR ORDER BY" in found) == (expected != BY_ROWID), f"{fields}\n{found}"
    deletion = plan(sqlite_driver, job_delete_many(sql, JobDeleteManyParams(ids=[7])), "EXPLAIN QUERY PLAN")
    assert BY_ROWID in deletion
