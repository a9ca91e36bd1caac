"""Our migrations make exactly River's schema on SQLite, version by version, up and down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from river_core.drivers.sqlite import SqliteDriver
from river_core.migrate import EVERYTHING, Migrator
from tests.conformance.catalogs import differences
from tests.conformance.sqlite_catalog import sqlite_catalog
from tests.vectors import load

VECTOR = load("schema_sqlite.json")
LAST_VERSION_OF_VECTOR = 7


@pytest.fixture
def migrator(sqlite_path: Path) -> Iterator[Migrator]:
    """A migrator on an empty file."""
    with closing(SqliteDriver(sqlite_path)) as driver:
        yield Migrator(driver)


def expected(version: int) -> dict[str, Any]:
    """Return River's catalog at a version.

    The vector took AUTOINCREMENT of river_job from the word in a comment; before version 8 there is none.
    """
    catalog: dict[str, Any] = deepcopy(VECTOR["versions"][str(version)])
    if version in (6, 7):
        assert catalog["tables"]["river_job"]["autoincrement"]
        catalog["tables"]["river_job"]["autoincrement"] = False
    return catalog


def expected_at_8(*, autoincrement: bool = True) -> dict[str, Any]:
    """Return version 7 with `max_attempts` behind `kind`, and, unless it was taken back, AUTOINCREMENT."""
    catalog = expected(7)
    table = catalog["tables"]["river_job"]
    columns = table["columns"]
    columns.insert([column["name"] for column in columns].index("kind") + 1, columns.pop())
    for position, column in enumerate(columns):
        column["cid"] = position
    positions = {column["name"]: column["cid"] for column in columns}
    for index in catalog["indexes"].values():
        if index["table"] == "river_job":
            for column in index["columns"]:
                column["cid"] = positions.get(column["name"], column["cid"])
    table["autoincrement"] = autoincrement
    return catalog


def test_every_version_up_is_rivers(migrator: Migrator, sqlite_path: Path) -> None:
    """Checklist 13. Each of the versions 1 to 7 has the tables, checks and indexes of River's."""
    for version in range(1, LAST_VERSION_OF_VECTOR + 1):
        migrator.migrate_up(target_version=version)
        assert differences(expected(version), sqlite_catalog(sqlite_path), f"v{version}") == []


def test_every_version_down_is_rivers(migrator: Migrator, sqlite_path: Path) -> None:
    """The way down from 7 passes through the very same catalogs."""
    migrator.migrate_up(target_version=LAST_VERSION_OF_VECTOR)
    for version in range(LAST_VERSION_OF_VECTOR - 1, 0, -1):
        migrator.migrate_down()
        assert differences(expected(version), sqlite_catalog(sqlite_path), f"v{version}") == []
        assert VECTOR["down"][str(version)] == []


def test_version_8_up_and_down(migrator: Migrator, sqlite_path: Path) -> None:
    """Version 8 adds AUTOINCREMENT and moves max_attempts; its down takes only the first back.

    Checklist 13.
    """
    migrator.migrate_up()
    assert differences(expected_at_8(), sqlite_catalog(sqlite_path)) == []
    migrator.migrate_down()
    assert differences(expected_at_8(autoincrement=False), sqlite_catalog(sqlite_path)) == []
    migrator.migrate_down()
    assert differences(expected(6), sqlite_catalog(sqlite_path)) == []


def test_nothing_is_left_at_the_bottom(migrator: Migrator, sqlite_path: Path) -> None:
    """Checklist 5. Going down to nothing removes every table and index, and the way up works again."""
    migrator.migrate_up()
    migrator.migrate_down(EVERYTHING)
    assert not any(sqlite_catalog(sqlite_path).values())
    migrator.migrate_up()
    assert differences(expected_at_8(), sqlite_catalog(sqlite_path)) == []
