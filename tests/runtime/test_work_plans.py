"""How Postgres finds the rows that a worker writes: by id, whatever its statistics say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from river_core.client import Client
from river_core.db import job_tx, work
from river_core.db.statement import Statement
from river_core.db.work import AttemptChange
from river_core.drivers.psycopg import PsycopgDriver
from river_core.insert import EncodedArgs, InsertManyParams, InsertOpts
from river_core.outcome import Completed, set_completed

CLIENT = "plans_test"
ROWS = 4_000
BATCH = 500

pytestmark = pytest.mark.postgres


def loaded(driver: PsycopgDriver) -> list[AttemptChange]:
    """Fill and drain most of a table that was last analysed when it was empty; return what runs."""
    with driver.connect() as connection:
        connection.run_script("ANALYZE river_job")
    jobs = [InsertManyParams(EncodedArgs("k1", "{}"), InsertOpts())] * ROWS
    Client(driver).insert_many(jobs)
    sql = driver.sql
    while True:
        with driver.connect() as connection:
            claimed = connection.fetch(work.job_get_available(sql, "default", CLIENT, BATCH))
            change = set_completed(datetime.now(UTC), {}, Completed())
            changes = [AttemptChange(row[0], 1, change) for row in claimed if row[0] is not None]
            if changes[-1].job_id >= ROWS - BATCH:
                return changes
            connection.fetch(work.job_set_completed_if_running_many(sql, CLIENT, changes))


def scans(plan: Any) -> Iterator[str]:
    """Yield how each part of a plan reads `river_job`, but for the claim's walk of its index."""
    if plan.get("Relation Name") == "river_job" and plan["Node Type"] != "ModifyTable":
        yield f"{plan['Node Type']} {plan.get('Index Name', '')}".strip()
    for part in plan.get("Plans", ()):
        yield from scans(part)


def explained(driver: PsycopgDriver, statement: Statement) -> set[str]:
    """Return how a statement reads `river_job`, by the plan that Postgres chooses now."""
    text = f"EXPLAIN (FORMAT json) {statement.sql}"
    with driver.connect() as connection:
        [(found,)] = connection.fetch(Statement("explain", text, statement.parameters))
    document = json.loads(found) if isinstance(found, str) else found
    return set(scans(document[0]["Plan"]))


def test_rows_are_looked_up_by_id_under_stale_statistics(postgres_driver: PsycopgDriver) -> None:
    """A read of the whole table, or of all that runs or has run, would grow with the load."""
    changes = loaded(postgres_driver)
    sql = postgres_driver.sql
    for statement in (
        work.job_set_completed_if_running_many(sql, CLIENT, changes),
        work.job_set_state_if_running_many(sql, CLIENT, changes),
        work.job_lock_running_many(sql, CLIENT, changes),
        job_tx.job_delete_running_many(sql, CLIENT, changes),
    ):
        assert explained(postgres_driver, statement) == {"Index Scan river_job_pkey"}, statement.name
    claim = explained(postgres_driver, work.job_get_available(sql, "default", CLIENT, BATCH))
    assert claim == {
        "Index Scan river_job_prioritized_fetching_index",
        "Index Only Scan river_job_prioritized_fetching_index",
        "Index Scan river_job_pkey",
    }
