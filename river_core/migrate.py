"""The migrator: moves River's schema up and down, one transaction per version.

Each migration and its row in `river_migration` are written together, so that River's other clients and
tools agree on what is there. Nothing here runs at the start of a client or worker: a deployment
migrates once, before it starts them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum

from river_core.db.migrations import (
    MAIN_LINE,
    Migration,
    check_line,
    main_line,
    migration_delete,
    migration_get,
    migration_insert,
    migration_lock,
    migration_obstacles,
    migration_shape,
)
from river_core.drivers.base import Connection, CreatesFile, Driver
from river_core.errors import DatabaseError, MigrationError

EVERYTHING = -1  # as a down target: take back every version
NO_STEPS = -1  # as a number of steps: apply nothing

_REBUILDS_JOBS = frozenset({7, 8})  # versions of the main line that make river_job anew on SQLite
_MAX_TYPING_ERRORS = 2

_logger = logging.getLogger(__name__)


class Direction(StrEnum):
    """Which way a migration goes."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class MigrateVersion:
    """One version that was moved; `seconds` is 0 in a dry run."""

    version: int
    name: str
    sql: str
    seconds: float


@dataclass(frozen=True, slots=True)
class MigrateResult:
    """What a run moved, in the order in which it did."""

    direction: Direction
    versions: tuple[MigrateVersion, ...]


@dataclass(frozen=True, slots=True)
class ValidateResult:
    """Whether every version is applied; if not, `messages` says which are missing."""

    ok: bool
    messages: tuple[str, ...] = ()


class Migrator:
    """Moves one line of migrations in one database (River: rivermigrate.Migrator).

    migrator = Migrator(driver)
    for moved in migrator.migrate_up().versions:
        print(moved.version, moved.name)
    """

    def __init__(
        self,
        driver: Driver,
        *,
        line: str = MAIN_LINE,
        extra_lines: Mapping[str, Sequence[Migration]] | None = None,
    ) -> None:
        """Take a driver and the name of a line; `extra_lines` adds lines beside River's own `main`.

        Raises MigrationError for an unknown line, and ConfigurationError for an extra line with gaps.
        """
        sql = driver.sql
        lines = {name: check_line(each, sql.schema) for name, each in (extra_lines or {}).items()}
        lines[MAIN_LINE] = main_line(sql)
        if line not in lines:
            raise MigrationError(f"migration line does not exist: {line}{_suggestion(line, sorted(lines))}")
        self._driver = driver
        self._line = line
        self._migrations = lines[line]

    def all_versions(self) -> tuple[Migration, ...]:
        """Return every migration that is known here, by version."""
        return self._migrations

    def get_version(self, version: int) -> Migration:
        """Return one migration; raises MigrationError for a version that is not known."""
        if not 1 <= version <= len(self._migrations):
            raise MigrationError(
                f"version {version} is not a valid River migration version (1 to {len(self._migrations)})"
            )
        return self._migrations[version - 1]

    def existing_versions(self) -> tuple[int, ...]:
        """Return the recorded versions, ascending; also those that a newer client applied."""
        with self._connect() as connection:
            return self._existing(connection)

    def validate(self, target_version: int | None = None) -> ValidateResult:
        """Say whether all versions, or those up to `target_version`, are applied.

        Raises MigrationError for an unknown target.
        """
        last = len(self._migrations) if target_version is None else self.get_version(target_version).version
        existing = self.existing_versions()
        missing = [version for version in range(1, last + 1) if version not in existing]
        return (
            ValidateResult(False, (f"Unapplied migrations: {missing}",)) if missing else ValidateResult(True)
        )

    def migrate_up(
        self, target_version: int | None = None, max_steps: int | None = None, *, dry_run: bool = False
    ) -> MigrateResult:
        """Apply what is missing, up to and including `target_version`, at most `max_steps` versions.

        Without limits it applies everything; a target that is applied already is nothing to do. A dry run
        reports the same versions and changes nothing. Raises MigrationError.
        """
        last = len(self._migrations) if target_version is None else self.get_version(target_version).version
        with self._connect() as connection:
            existing = self._existing(connection)
            self._refuse_gaps(existing)
            self._warn_of_newer(existing)
            plan = [each for each in self._migrations[:last] if each.version not in existing]
            return self._run(connection, Direction.UP, _limit(plan, max_steps), dry_run=dry_run)

    def migrate_down(
        self, target_version: int | None = None, max_steps: int | None = None, *, dry_run: bool = False
    ) -> MigrateResult:
        """Take back the newest version, or `max_steps` of them, or all above `target_version`.

        A target of 0 or EVERYTHING removes River's schema with all its jobs. Raises MigrationError, also
        when a newer client applied versions that are not known here.
        """
        if target_version is None and max_steps is None:
            max_steps = 1
        with self._connect() as connection:
            existing = self._existing(connection)
            self._refuse_gaps(existing)
            self._refuse_newer(existing)
            floor = self._down_floor(target_version, existing)
            plan = [each for each in reversed(self._migrations) if floor < each.version <= len(existing)]
            return self._run(connection, Direction.DOWN, _limit(plan, max_steps), dry_run=dry_run)

    def _down_floor(self, target_version: int | None, existing: Sequence[int]) -> int:
        if target_version in (None, 0, EVERYTHING):
            return 0
        floor = self.get_version(target_version).version
        if floor not in existing:
            raise MigrationError(f"version {floor} is not applied, so there is no way down to it")
        return floor

    def _connect(self) -> AbstractContextManager[Connection]:
        if isinstance(self._driver, CreatesFile):
            self._driver.create_file()
        return self._driver.connect()

    def _existing(self, connection: Connection) -> tuple[int, ...]:
        sql = self._driver.sql
        table, line_column = connection.fetch(migration_shape(sql))[0]
        if self._line != MAIN_LINE and not line_column:
            raise MigrationError(
                f"line {self._line!r} needs river_migration with its column line: "
                f"migrate line {MAIN_LINE!r} fully first"
            )
        if not table:
            return ()
        statement = migration_get(sql, self._line if line_column else None)
        return tuple(int(row[0]) for row in connection.fetch(statement))

    def _newer(self, existing: Sequence[int]) -> list[int]:
        return [version for version in existing if version > len(self._migrations)]

    def _warn_of_newer(self, existing: Sequence[int]) -> None:
        if newer := self._newer(existing):
            _logger.warning(
                "schema was migrated by a newer client", extra={"line": self._line, "versions": newer}
            )

    def _refuse_newer(self, existing: Sequence[int]) -> None:
        if newer := self._newer(existing):
            raise MigrationError(
                f"versions {newer} of line {self._line!r} were applied by a newer client; "
                "only that one knows the way down"
            )

    def _refuse_gaps(self, existing: Sequence[int]) -> None:
        newest = min(max(existing, default=0), len(self._migrations))
        if missing := [version for version in range(1, newest) if version not in existing]:
            raise MigrationError(
                f"river_migration has version {newest} of line {self._line!r} but not {missing}: "
                "the record does not say what the schema is; repair it before migrating"
            )

    def _run(
        self, connection: Connection, direction: Direction, plan: Sequence[Migration], *, dry_run: bool
    ) -> MigrateResult:
        moved: list[MigrateVersion] = []
        for migration in plan:
            start = time.perf_counter()
            if not dry_run and not self._move(connection, direction, migration):
                continue
            seconds = 0.0 if dry_run else time.perf_counter() - start
            text = migration.up if direction is Direction.UP else migration.down
            moved.append(MigrateVersion(migration.version, migration.name, text, seconds))
            _logger.info(
                "applied migration",
                extra={"direction": direction.value, "version": migration.version, "dry_run": dry_run},
            )
        return MigrateResult(direction, tuple(moved))

    def _move(self, connection: Connection, direction: Direction, migration: Migration) -> bool:
        """Apply one migration; False when another migrator did so while we waited for the lock."""
        try:
            with connection.transaction():
                connection.fetch(migration_lock(self._driver.sql))
                if not self._still_due(connection, direction, migration.version):
                    return False
                self._refuse_obstacles(connection, migration.version)
                connection.run_script(migration.up if direction is Direction.UP else migration.down)
                self._record(connection, direction, migration.version)
        except DatabaseError as error:
            raise MigrationError(
                f"version {migration.version} failed on its way {direction}: {error}"
            ) from error
        return True

    def _still_due(self, connection: Connection, direction: Direction, version: int) -> bool:
        existing = [each for each in self._existing(connection) if each <= len(self._migrations)]
        newest = max(existing, default=0)
        if direction is Direction.UP:
            done, next_version = newest >= version, newest + 1
        else:
            done, next_version = newest < version, newest
        if not done and next_version != version:
            raise MigrationError(
                f"another client moved the schema to version {newest} meanwhile; start again"
            )
        return not done

    def _refuse_obstacles(self, connection: Connection, version: int) -> None:
        if self._line != MAIN_LINE or version not in _REBUILDS_JOBS:
            return
        if rows := connection.fetch(migration_obstacles(self._driver.sql)):
            names = ", ".join(str(row[0]) for row in rows)
            raise MigrationError(f"version {version} makes river_job anew and would break: {names}")

    def _record(self, connection: Connection, direction: Direction, version: int) -> None:
        if direction is Direction.UP:
            connection.fetch(migration_insert(self._driver.sql, self._line, version))
        elif statement := migration_delete(self._driver.sql, self._line, version):
            connection.fetch(statement)


def _limit(plan: Sequence[Migration], max_steps: int | None) -> Sequence[Migration]:
    return plan if max_steps is None else plan[: max(max_steps, 0)]


def _suggestion(line: str, known: Sequence[str]) -> str:
    near = [name for name in known if _edit_distance(line, name) <= _MAX_TYPING_ERRORS]
    return f" (did you mean {' or '.join(map(repr, near))}?)" if near else f" (known: {', '.join(known)})"


def _edit_distance(left: str, right: str) -> int:
    """Count the letters to insert, remove or replace (Levenshtein), as River does for its hint."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
