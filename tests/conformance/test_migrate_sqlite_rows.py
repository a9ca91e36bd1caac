"""Jobs live through the migrations that rebuild their table on SQLite: 7 and 8, up and down."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from river_core.drivers import sqlite_json
from river_core.drivers.sqlite import SqliteDriver
from river_core.errors import MigrationError
from river_core.migrate import Migrator

COLUMNS = (
    "id, args, attempt, attempted_at, attempted_by, created_at, errors, finalized_at, kind, max_attempts, "
    "metadata, priority, queue, state, scheduled_at, tags, unique_key, unique_states"
)
INSERT = f"INSERT INTO river_job ({COLUMNS}) VALUES ({', '.join('?' * 18)})"
SELECT = f"SELECT {COLUMNS} FROM river_job ORDER BY id"
INSERT_QUEUE = (
    "INSERT INTO river_queue (name, created_at, metadata, paused_at, updated_at) VALUES (?, ?, ?, ?, ?)"
)
SELECT_QUEUE = (
    "SELECT name, created_at, json(metadata), paused_at, updated_at, typeof(metadata) FROM river_queue"
)
JSON_COLUMNS = (1, 4, 6, 10, 15)
T1, T2 = "2026-08-07 14:32:57.123", "2026-08-07 14:32:58"
ARGS = '{"big":123456789012345678901234567890,"float":1.50,"text":"a\\"b\\\\c","deep":[[{"x":null}]]}'
ERRORS = '[{"at":"2026-08-07T14:32:57Z","attempt":1,"error":"boom \\u0041 é","trace":""}]'
KEY = b"\x00\xff" * 16
PLAIN = (3, "{}", 0, None, None, T1, None, None, "plain", 25, "{}", 1, "q", "available", T1, "[]", None, None)
DONE = (
    *(7, ARGS, 2, T2, '["one","two"]', T1, ERRORS, T2, "done", 100000),
    *('{"a":true}', 4, "other", "completed", T2, '["tag"]', KEY, 245),
)
ROWS: list[tuple[Any, ...]] = [PLAIN, DONE]
QUEUE = ("q", T1, '{"a":[1]}', T2, T2)

pytestmark = pytest.mark.foreign_rows  # rows as older clients wrote them


@pytest.fixture
def migrator(sqlite_path: Path) -> Iterator[Migrator]:
    """A migrator on an empty file."""
    with closing(SqliteDriver(sqlite_path)) as driver:
        yield Migrator(driver)
        with driver.connect() as connection:  # the check of every test's rows needs a full schema
            connection.run_script("DROP TABLE IF EXISTS river_job")


@pytest.fixture
def database(sqlite_path: Path) -> Iterator[sqlite3.Connection]:
    """Another client's connection to the same file, with foreign keys on."""
    with closing(sqlite3.connect(sqlite_path, isolation_level=None)) as connection:
        sqlite_json.register(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection


def jobs(database: sqlite3.Connection, *, storage: str) -> list[tuple[Any, ...]]:
    """Return every job with its JSON as text, after checking how the database stores that JSON."""
    found = []
    for row in database.execute(SELECT).fetchall():
        values = list(row)
        for position in JSON_COLUMNS:
            if values[position] is not None:
                assert type(values[position]).__name__ == storage, f"column {position} of job {row[0]}"
                if isinstance(values[position], bytes):
                    values[position] = sqlite_json.decode(values[position])
        found.append(tuple(values))
    return found


def test_version_7_keeps_every_value_both_ways(migrator: Migrator, database: sqlite3.Connection) -> None:
    """Checklist 14. Text JSON becomes binary and comes back as it was; everything else is untouched."""
    migrator.migrate_up(target_version=6)
    database.executemany(INSERT, ROWS)
    database.execute(INSERT_QUEUE, QUEUE)
    migrator.migrate_up(target_version=7)
    assert jobs(database, storage="bytes") == ROWS
    assert database.execute(SELECT_QUEUE).fetchall() == [(*QUEUE, "blob")]
    migrator.migrate_down()
    assert jobs(database, storage="str") == ROWS
    assert database.execute(SELECT_QUEUE).fetchall() == [(*QUEUE, "text")]


def test_version_8_keeps_every_value_both_ways(migrator: Migrator, database: sqlite3.Connection) -> None:
    """Checklist 13. AUTOINCREMENT comes and goes without touching a value."""
    migrator.migrate_up(target_version=6)
    database.executemany(INSERT, ROWS)
    migrator.migrate_up()
    assert jobs(database, storage="bytes") == ROWS
    migrator.migrate_down()
    assert jobs(database, storage="bytes") == ROWS
    migrator.migrate_down()
    assert jobs(database, storage="str") == ROWS


def test_ids_are_not_used_twice_from_version_8_on(migrator: Migrator, database: sqlite3.Connection) -> None:
    """At version 7 the id of the newest deleted job is given again, at version 8 it is not."""

    def next_id() -> int:
        cursor = database.execute("INSERT INTO river_job (kind) VALUES ('k')")
        assert cursor.lastrowid is not None
        database.execute("DELETE FROM river_job WHERE id = ?", (cursor.lastrowid,))
        return cursor.lastrowid

    migrator.migrate_up(target_version=7)
    assert [next_id(), next_id()] == [1, 1]
    database.execute("INSERT INTO river_job (id, kind) VALUES (41, 'k')")
    migrator.migrate_up()
    assert [next_id(), next_id()] == [42, 43]
    migrator.migrate_down()
    assert [next_id(), next_id()] == [42, 42]


def test_max_attempts_has_its_default_from_version_7_on(
    migrator: Migrator, database: sqlite3.Connection
) -> None:
    """Checklist 14. A row that names only its kind gets 25 attempts and binary JSON."""
    migrator.migrate_up(target_version=7)
    database.execute("INSERT INTO river_job (kind) VALUES ('k')")
    read = "SELECT max_attempts, json(args), typeof(args), json(tags), typeof(tags) FROM river_job"
    assert database.execute(read).fetchone() == (25, "{}", "blob", "[]", "blob")


def test_views_survive_the_rebuilds(migrator: Migrator, database: sqlite3.Connection) -> None:
    """A report over river_job still reads river_job afterwards."""
    migrator.migrate_up(target_version=6)
    database.execute("CREATE VIEW report AS SELECT kind, count(*) AS jobs FROM river_job GROUP BY kind")
    database.executemany(INSERT, ROWS)
    migrator.migrate_up()
    assert database.execute("SELECT * FROM report ORDER BY kind").fetchall() == [("done", 1), ("plain", 1)]


@pytest.mark.parametrize(
    ("name", "create"),
    [
        ("table river_job_sequence", "CREATE TABLE river_job_sequence (id INTEGER)"),
        ("table river_job_workflow_scheduling", "CREATE TABLE river_job_workflow_scheduling (id INTEGER)"),
        ("table river_workflow", "CREATE TABLE river_workflow (id INTEGER)"),
        ("table mine", "CREATE TABLE mine (job INTEGER REFERENCES river_job (id) ON DELETE CASCADE)"),
        ("trigger audit", "CREATE TRIGGER audit AFTER DELETE ON river_job BEGIN SELECT 1; END"),
    ],
)
def test_rebuilding_is_refused_where_it_would_break_something(
    migrator: Migrator, database: sqlite3.Connection, name: str, create: str
) -> None:
    """Version 8 stops, both ways, at tables of River Pro, references to river_job and triggers on it.

    Checklist 13.
    """
    migrator.migrate_up(target_version=7)
    database.execute(create)
    with pytest.raises(MigrationError, match=f"version 8 .* would break: {name}"):
        migrator.migrate_up()
    assert migrator.existing_versions() == tuple(range(1, 8))
    database.execute(" ".join(["DROP", *name.split()]))
    migrator.migrate_up()
    database.execute(create)
    with pytest.raises(MigrationError, match=f"version 8 .* would break: {name}"):
        migrator.migrate_down()
    assert migrator.existing_versions() == tuple(range(1, 9))


def test_json_that_cannot_be_read_stops_version_7(migrator: Migrator, database: sqlite3.Connection) -> None:
    """A row whose text is not JSON leaves the database at version 6 with the row as it was."""
    migrator.migrate_up(target_version=6)
    database.executemany(INSERT, [(PLAIN[0], "not JSON", *PLAIN[2:])])
    with pytest.raises(MigrationError, match="version 7 failed on its way up"):
        migrator.migrate_up()
    assert migrator.existing_versions() == tuple(range(1, 7))
    assert database.execute("SELECT args FROM river_job").fetchall() == [("not JSON",)]
