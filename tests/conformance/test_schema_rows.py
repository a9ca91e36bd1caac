"""What the migrated tables accept, on both databases: River's checks and its unique index."""

from __future__ import annotations

from typing import Any

import pytest

from river_core.db.statement import Dialect, Parameter, Statement
from river_core.drivers.base import Driver, Row
from river_core.errors import RejectedValueError
from tests.vectors import load

NOW = "2026-08-07 14:32:57.123"

pytestmark = pytest.mark.foreign_rows  # table defaults and raw states, which no client would write

POSTGRES_JOB = """
INSERT INTO river_job (
    args, kind, max_attempts, priority, queue, state, finalized_at, unique_key, unique_states
)
VALUES (@args::jsonb, @kind, @max_attempts, @priority, @queue, @state::river_job_state,
    @finalized_at::timestamptz, decode(@unique_key, 'hex'), @unique_states::integer::bit(8))
"""
SQLITE_JOB = """
INSERT INTO river_job (
    args, kind, max_attempts, priority, queue, state, finalized_at, unique_key, unique_states
)
VALUES (jsonb(@args), @kind, @max_attempts, @priority, @queue, @state, @finalized_at, @unique_key,
    @unique_states)
"""
LEADER = "INSERT INTO river_leader (elected_at, expires_at, leader_id, name) VALUES (@now, @now, @id, @name)"
NOTIFY = "INSERT INTO river_notification (created_at, payload, topic) VALUES (@now, '{}', @topic)"
JOB: dict[str, Parameter] = {
    "args": "{}",
    "kind": "k",
    "max_attempts": 25,
    "priority": 1,
    "queue": "default",
    "state": "available",
    "finalized_at": None,
    "unique_key": None,
    "unique_states": None,
}


def is_postgres(driver: Driver) -> bool:
    """Tell which of the two databases the test runs on."""
    return driver.sql.dialect is Dialect.POSTGRES


def insert(driver: Driver, **columns: Parameter) -> None:
    """Insert one job with these columns and ordinary values in the others."""
    text = POSTGRES_JOB if is_postgres(driver) else SQLITE_JOB
    run(driver, text, **(JOB | columns))


def run(driver: Driver, sql: str, **parameters: Parameter) -> list[Row]:
    """Run one statement that the product has no use for."""
    with driver.connect() as connection:
        return connection.fetch(Statement("test", sql, parameters))


@pytest.mark.parametrize(
    ("columns", "check"),
    [
        ({"state": "completed"}, "finalized_or_finalized_at_null"),
        ({"state": "discarded"}, "finalized_or_finalized_at_null"),
        ({"state": "available", "finalized_at": NOW}, "finalized_or_finalized_at_null"),
        ({"state": "pending", "finalized_at": NOW}, "finalized_or_finalized_at_null"),
        ({"kind": ""}, "kind_length"),
        ({"kind": "k" * 128}, "kind_length"),
        ({"queue": ""}, "queue_length"),
        ({"queue": "q" * 128}, "queue_length"),
        ({"priority": 0}, "priority_in_range"),
        ({"priority": 5}, "priority_in_range"),
    ],
)
def test_rows_that_both_databases_refuse(driver: Driver, columns: dict[str, Any], check: str) -> None:
    """A finalized state and its time imply each other; lengths and priority stay in their ranges.

    Checklist 15, 16.
    """
    with pytest.raises(RejectedValueError, match=check):
        insert(driver, **columns)
    assert run(driver, "SELECT id FROM river_job") == []


@pytest.mark.parametrize(
    "columns",
    [
        {"state": "completed", "finalized_at": NOW},
        {"kind": "k" * 127, "queue": "q" * 127},
        {"priority": 4},
        {"state": "pending"},
    ],
)
def test_rows_that_both_databases_take(driver: Driver, columns: dict[str, Any]) -> None:
    """The ends of each range are allowed."""
    insert(driver, **columns)
    assert len(run(driver, "SELECT id FROM river_job")) == 1


def test_max_attempts_is_checked_on_postgres_alone(driver: Driver) -> None:
    """Checklist 16. SQLite has no such check, so there only the clients keep 0 out."""
    if is_postgres(driver):
        with pytest.raises(RejectedValueError, match="max_attempts_is_positive"):
            insert(driver, max_attempts=0)
    else:
        insert(driver, max_attempts=0)


def test_an_unknown_state_is_refused(driver: Driver) -> None:
    """The enum on Postgres, a check on SQLite."""
    with pytest.raises(RejectedValueError, match=r"river_job_state|state_valid"):
        insert(driver, state="bogus")


@pytest.mark.parametrize("case", load("schema_sqlite.json")["unique_index"], ids=str)
def test_the_unique_index(driver: Driver, case: dict[str, Any]) -> None:
    """A second job with the key conflicts exactly where River's index says so."""
    state = case["existing_state"]
    finalized_at = NOW if state in ("cancelled", "completed", "discarded") else None
    key: dict[str, Any] = {"unique_key": "ab" * 32, "unique_states": case["unique_states"]}
    insert(driver, state=state, finalized_at=finalized_at, **key)
    if not case["conflict"]:
        return insert(driver, **key)
    with pytest.raises(RejectedValueError, match=r"river_job_unique_idx|UNIQUE constraint failed"):
        insert(driver, **key)
    return None


def test_defaults_of_a_job(driver: Driver) -> None:
    """Another client may name nothing but args and kind: River's defaults fill in the rest."""
    if is_postgres(driver):
        insert_minimal = "INSERT INTO river_job (args, kind) VALUES ('{}', 'k')"
        read = "metadata::text, to_jsonb(tags)::text"
    else:
        insert_minimal = "INSERT INTO river_job (kind) VALUES ('k')"
        read = "json(metadata), json(tags)"
    run(driver, insert_minimal)
    select = f"SELECT state, attempt, max_attempts, priority, queue, {read} FROM river_job"
    assert [tuple(row) for row in run(driver, select)] == [("available", 0, 25, 1, "default", "{}", "[]")]


def test_leaders_queues_and_notifications(driver: Driver) -> None:
    """One leader called default, and no empty leader id or topic."""
    run(driver, "INSERT INTO river_queue (name) VALUES ('q')")
    run(driver, LEADER, now=NOW, id="one", name="default")
    for identity, name in (("two", "default"), ("two", "other"), ("", "default")):
        with pytest.raises(RejectedValueError):
            run(driver, LEADER, now=NOW, id=identity, name=name)
    run(driver, NOTIFY, now=NOW, topic="river_insert")
    with pytest.raises(RejectedValueError, match="topic_length"):
        run(driver, NOTIFY, now=NOW, topic="")
