"""The check of every row after every test does find what breaks the protocol."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from river_core.db.statement import Dialect, Statement
from river_core.drivers.base import Driver
from river_core.drivers.sqlite import SqliteDriver
from tests.databases import Database, folder_problems, migrate, sqlite_problems
from tests.row_rules import broken_rules

ERROR = {"at": "2026-01-02T03:04:05Z", "attempt": 1, "error": "text", "trace": ""}
GOOD = {
    "id": 1,
    "state": "available",
    "args": "{}",
    "metadata": "{}",
    "errors": json.dumps([ERROR]),
    "attempted_by": '["client"]',
    "tags": '["a", "b"]',
    "finalized_at": None,
    "has_key": True,
    "unique_states": 245,
    "scheduled_at": "2026-01-02 03:04:05+00",
    "created_at": "2026-01-02 03:04:05+00",
    "attempt": 1,
    "max_attempts": 25,
}


def problems(**changes: Any) -> list[str]:
    """Check one row that differs from a good one as told."""
    return broken_rules([list({**GOOD, **changes}.values())], Dialect.POSTGRES)


def test_a_good_row_passes() -> None:
    """Nothing is wrong with a row that keeps the rules."""
    assert problems() == []


@pytest.mark.parametrize(
    "change",
    [
        {"state": "finished"},
        {"state": "completed"},
        {"finalized_at": "2026-01-02 03:04:05+00"},
        {"args": "[]"},
        {"metadata": "null"},
        {"metadata": '{"cancel_attempted_at": 5}'},
        {"errors": "[null]"},
        {"errors": json.dumps([{**ERROR, "at": "2026-01-02T03:04:05"}])},
        {"errors": json.dumps([{**ERROR, "attempt": 1.0}])},
        {"errors": json.dumps([{**ERROR, "attempt": True}])},
        {"errors": json.dumps([{**ERROR, "error": None}])},
        {"errors": json.dumps([{**ERROR, "trace": "nul \x00"}])},
        {"attempted_by": "[null]"},
        {"tags": '["a,b"]'},
        {"tags": "null"},
        {"unique_states": 0},
        {"unique_states": None},
        {"scheduled_at": "infinity"},
        {"created_at": None},
        {"attempt": -1},
    ],
)
def test_a_broken_row_is_named(change: dict[str, Any]) -> None:
    """Checklist 161. Each way to break a rule gives exactly one line that names the job."""
    (line,) = problems(**change)
    assert line.startswith("job 1: ")


WRONG_METADATA = "INSERT INTO river_job (kind, args, metadata, max_attempts) VALUES ('k', {}, {}, 25)"


@pytest.mark.postgres
@pytest.mark.foreign_rows
def test_postgres_rows_are_checked(postgres_driver: Driver, postgres_database: Database) -> None:
    """Checklist 161. The check at the end of a test reads the table of each schema that the test made."""
    with postgres_driver.connect() as connection:
        connection.fetch(Statement("wrong", WRONG_METADATA.format("'{}'", "'[]'"), {}))
    (line,) = postgres_database.end_test()
    assert "metadata is no object" in line


@pytest.mark.foreign_rows
def test_sqlite_rows_are_checked(sqlite_driver: Driver, sqlite_path: Any) -> None:
    """Checklist 161. The check at the end of a test reads the file, which also must hold binary JSON."""
    with sqlite_driver.connect() as connection:
        connection.fetch(Statement("wrong", WRONG_METADATA.format("'{}'", "jsonb('[]')"), {}))
    lines = sqlite_problems(sqlite_path)
    assert any("metadata is no object" in line for line in lines)
    assert any("not stored as River stores it" in line for line in lines)


@pytest.mark.foreign_rows
def test_every_file_of_a_test_is_checked(tmp_path: Path) -> None:
    """Checklist 161. Also one that a process made by itself, in a folder of its own."""
    path = tmp_path / "inner" / "shop.db"
    path.parent.mkdir()
    with closing(SqliteDriver(path)) as driver:
        migrate(driver)
        assert folder_problems(tmp_path) == []
        with driver.connect() as connection:
            connection.fetch(Statement("wrong", WRONG_METADATA.format("jsonb('{}')", "jsonb('[]')"), {}))
    lines = folder_problems(tmp_path)
    assert len(lines) >= 1
    assert all(line.startswith("shop.db, job 1: ") for line in lines)


def test_the_driver_fixture_is_migrated(driver: Driver) -> None:
    """Each driver starts with an empty river_job."""
    with driver.connect() as connection:
        assert connection.fetch(Statement("count", "SELECT count(*) FROM river_job", {}))[0][0] == 0
