"""River's migrations as data, and the statements that record which of them a database has.

The texts live in `<dialect>/migration/NNN_name.{up,down}.sql`; this module reads and checks them and
runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from river_core.db.statement import Sql, Statement, qualify
from river_core.errors import ConfigurationError

MAIN_LINE = "main"
LINE_COLUMN_VERSION = 5  # river_migration has the column `line` from this version of the main line on


@dataclass(frozen=True, slots=True)
class Migration:
    """One version of a line: its name and the SQL that leads to it and back, ready to run."""

    version: int
    name: str
    up: str
    down: str


def main_line(sql: Sql) -> tuple[Migration, ...]:
    """Return River's own migrations, in order, for this dialect and schema.

    Their versions, names and results are those of River's line `main`; see `check_line`.
    """
    folder = files("river_core.db").joinpath(sql.dialect.value, "migration")
    return check_line(
        read_line((entry.name, entry.read_text("utf-8")) for entry in folder.iterdir()), sql.schema
    )


def read_line(texts: Iterable[tuple[str, str]]) -> list[Migration]:
    """Pair `NNN_name.up.sql` with `NNN_name.down.sql`, given as (file name, text); order by version.

    The name is what stands between the first underscore and the first dot, underscores as blanks.
    """
    found: dict[tuple[int, str], dict[str, str]] = {}
    for file_name, text in texts:
        stem, direction = file_name.split(".")[:2]
        number, _, name = stem.partition("_")
        found.setdefault((int(number), name.replace("_", " ")), {})[direction] = text
    return [
        Migration(version, name, pair.get("up", ""), pair.get("down", ""))
        for (version, name), pair in sorted(found.items())
    ]


def check_line(migrations: Sequence[Migration], schema: str = "") -> tuple[Migration, ...]:
    """Return the migrations with the schema filled in.

    Raises ConfigurationError unless versions count up from 1 without a gap and both directions have text.
    """
    for expected, migration in enumerate(migrations, start=1):
        if migration.version != expected:
            raise ConfigurationError(
                f"migration version {migration.version} should be {expected}: no gaps, from 1"
            )
        if not (migration.up.strip() and migration.down.strip()):
            raise ConfigurationError(f"migration version {migration.version} needs SQL for both directions")
    return tuple(
        Migration(each.version, each.name, qualify(each.up, schema), qualify(each.down, schema))
        for each in migrations
    )


def migration_shape(sql: Sql) -> Statement:
    """Return one row of two booleans: river_migration exists; it has the column `line`."""
    return sql.statement("migration_shape")


def migration_get(sql: Sql, line: str | None) -> Statement:
    """Return the recorded versions of a line, ascending; None where there is no column `line` yet."""
    if line is None:
        return sql.statement("migration_get_all_assuming_main")
    return sql.statement("migration_get_by_line", line=line)


def migration_insert(sql: Sql, line: str, version: int) -> Statement:
    """Return the statement that records a version just applied."""
    if line == MAIN_LINE and version < LINE_COLUMN_VERSION:
        return sql.statement("migration_insert_assuming_main", version=version)
    return sql.statement("migration_insert", line=line, version=version)


def migration_delete(sql: Sql, line: str, version: int) -> Statement | None:
    """Return the statement that forgets a version just taken back; None when its table is gone too."""
    if line != MAIN_LINE or version > LINE_COLUMN_VERSION:
        return sql.statement("migration_delete", line=line, version=version)
    if version > 1:
        return sql.statement("migration_delete_assuming_main", version=version)
    return None


def migration_lock(sql: Sql) -> Statement:
    """Return the statement that keeps other migrators of this schema out until the transaction ends."""
    return sql.statement("migration_lock", schema=sql.schema)


def migration_obstacles(sql: Sql) -> Statement:
    """Return one text per table or trigger that forbids to rebuild river_job (SQLite only)."""
    return sql.statement("migration_obstacles")
