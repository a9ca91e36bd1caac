"""Our migrations make exactly River's schema on Postgres, version by version, up and down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from typing import Any

import psycopg
import pytest
from psycopg import sql

from river_core.drivers.psycopg import PsycopgDriver
from river_core.migrate import EVERYTHING, Migrator
from tests.conformance.catalogs import by_name, differences
from tests.conformance.postgres_catalog import postgres_catalog, without_key_names
from tests.vectors import load

VECTOR = load("schema_postgres.json")
LAST_VERSION_OF_VECTOR = 7
LISTED_BY_NAME = ("columns", "constraints", "indexes", "triggers")

pytestmark = pytest.mark.postgres


@pytest.fixture
def schema(postgres_url: str) -> str:
    """The name of the test's own schema."""
    with psycopg.connect(postgres_url) as connection:
        row = connection.execute("SELECT current_schema()").fetchone()
        assert row is not None
        return str(row[0])


@pytest.fixture
def migrator(postgres_url: str) -> Iterator[Migrator]:
    """A migrator on an empty schema."""
    with closing(PsycopgDriver(postgres_url)) as driver:
        yield Migrator(driver)


def expected(version: int, *, down: bool = False) -> dict[str, Any]:
    """Return River's catalog at a version, reached by the way up or by the way down from 7."""
    catalog = deepcopy(VECTOR["versions"][str(version)])
    if down and version in (2, 3):
        catalog["enums"]["river_job_state"].insert(4, "pending")
        metadata = by_name(catalog["tables"]["river_job"]["columns"])["metadata"]
        metadata |= {"default": None, "not_null": False}
    return comparable(catalog)


def comparable(catalog: dict[str, Any]) -> dict[str, Any]:
    """Drop what is compared elsewhere, and the order of everything but columns and enum values."""
    plain = without_key_names(catalog)
    plain.pop("river_migration_rows", None)
    for table in plain["tables"].values():
        table["column order"] = [column["name"] for column in table["columns"]]
        table |= {part: by_name(table[part]) for part in LISTED_BY_NAME}
    return plain | {part: by_name(plain[part]) for part in ("sequences", "functions")}


def test_every_version_up_is_rivers(migrator: Migrator, postgres_url: str, schema: str) -> None:
    """Each of the versions 1 to 7 has the tables, checks, indexes, enums and functions of River's.

    Checklist 1.
    """
    for version in range(1, LAST_VERSION_OF_VECTOR + 1):
        migrator.migrate_up(target_version=version)
        found = comparable(postgres_catalog(postgres_url, schema))
        assert differences(expected(version), found, f"v{version}") == []


def test_every_version_down_is_rivers(migrator: Migrator, postgres_url: str, schema: str) -> None:
    """On the way down only the enum value and one default stay different, as in River."""
    migrator.migrate_up()
    for version in range(LAST_VERSION_OF_VECTOR, 0, -1):
        migrator.migrate_down(target_version=version)
        found = comparable(postgres_catalog(postgres_url, schema))
        assert differences(expected(version, down=True), found, f"v{version}") == []
        assert bool(VECTOR["down"].get(str(version))) == (version in (2, 3))


def test_nothing_is_left_at_the_bottom(migrator: Migrator, postgres_url: str, schema: str) -> None:
    """Going down to nothing removes every relation, type and function, and the way up works again.

    Checklist 5.
    """
    before = postgres_catalog(postgres_url, schema)
    migrator.migrate_up()
    there = postgres_catalog(postgres_url, schema)
    migrator.migrate_down(EVERYTHING)
    assert postgres_catalog(postgres_url, schema) == before
    assert not any(before.values())
    migrator.migrate_up()
    assert comparable(postgres_catalog(postgres_url, schema)) == comparable(there)


def test_version_8_changes_nothing(migrator: Migrator, postgres_url: str, schema: str) -> None:
    """Version 8 exists for SQLite; on Postgres the catalog stays that of version 7, up and down.

    Checklist 1.
    """
    migrator.migrate_up()
    assert migrator.existing_versions() == tuple(range(1, 9))
    assert differences(expected(7), comparable(postgres_catalog(postgres_url, schema))) == []
    migrator.migrate_down()
    assert differences(expected(7), comparable(postgres_catalog(postgres_url, schema))) == []


def test_a_schema_name_that_needs_quotes(postgres_url: str, schema: str) -> None:
    """Checklist 12. A named schema gets the same catalog, and nothing lands in the one of the search path."""
    name = f"{schema}_Quoted"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    with closing(PsycopgDriver(postgres_url, schema=name)) as driver:
        migrator = Migrator(driver)
        for version in range(1, LAST_VERSION_OF_VECTOR + 1):
            migrator.migrate_up(target_version=version)
            found = comparable(postgres_catalog(postgres_url, name))
            assert differences(expected(version), found, f"v{version}") == []
        assert not any(postgres_catalog(postgres_url, schema).values())
        migrator.migrate_down(EVERYTHING)
        assert not any(postgres_catalog(postgres_url, name).values())


def test_the_enum_value_outlives_version_4_and_the_type_goes_with_version_2(
    migrator: Migrator, postgres_url: str, schema: str
) -> None:
    """Checklist 6. Down from 4 leaves `pending` in the type; down from 2 drops the type."""
    migrator.migrate_up(target_version=4)
    migrator.migrate_down()
    assert "pending" in postgres_catalog(postgres_url, schema)["enums"]["river_job_state"]
    migrator.migrate_down(max_steps=2)
    assert postgres_catalog(postgres_url, schema)["enums"] == {}


def test_the_mask_function_agrees_for_every_state_and_mask(migrator: Migrator, postgres_url: str) -> None:
    """All 256 masks of each state, a missing mask and a missing state give what River's function gives."""
    migrator.migrate_up()
    vector = VECTOR["river_job_state_in_bitmask"]
    query = """
        SELECT string_agg(answer::integer::text, '' ORDER BY mask)
        FROM generate_series(0, 255) AS mask,
            river_job_state_in_bitmask(mask::bit(8), %(state)s::river_job_state) AS answer
    """
    with psycopg.connect(postgres_url) as connection:
        for state, answers in vector["all_masks"].items():
            assert connection.execute(query, {"state": state}).fetchone() == (answers,)
        row = connection.execute(
            "SELECT river_job_state_in_bitmask(NULL, 'available'), "
            "river_job_state_in_bitmask(B'11111111', NULL)"
        ).fetchone()
        assert row == (vector["null_mask"], vector["null_state"])
