"""The migrator's rules, on both databases: order, bookkeeping, targets, refusals (River: rivermigrate)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from river_core.db.migrations import Migration, read_line
from river_core.db.statement import Dialect, Parameter, Sql, Statement
from river_core.drivers import open_driver
from river_core.drivers.base import Driver, Row
from river_core.errors import ConfigurationError, DatabaseError, MigrationError
from river_core.migrate import EVERYTHING, NO_STEPS, Direction, MigrateResult, Migrator, ValidateResult
from tests.vectors import load

ALL = tuple(range(1, 9))
BROKEN = "SELECT no_such_column"
EXTRA = (
    Migration(1, "first", "CREATE TABLE extra_one (id INTEGER)", "DROP TABLE extra_one"),
    Migration(
        2, "second", "CREATE TABLE extra_two (id INTEGER);\n" + BROKEN, "DROP TABLE extra_two;\n" + BROKEN
    ),
)


@pytest.fixture
def empty(database_url: str) -> Iterator[Driver]:
    """A driver on a database without River's schema."""
    with closing(open_driver(database_url)) as opened:
        yield opened
        run(opened, "DROP TABLE IF EXISTS river_job")  # the check of every test's rows needs a full schema


@pytest.fixture
def migrator(empty: Driver) -> Migrator:
    """A migrator on an empty database."""
    return Migrator(empty)


def run(driver: Driver, sql: str, **parameters: Parameter) -> list[Row]:
    """Run one statement that the product has no use for."""
    with driver.connect() as connection:
        return connection.fetch(Statement("test", sql, parameters))


def versions(result: MigrateResult) -> tuple[int, ...]:
    """Return the numbers of what was moved, in order."""
    return tuple(moved.version for moved in result.versions)


def test_up_applies_everything_once(migrator: Migrator) -> None:
    """Checklist 1. An empty database gets versions 1 to 8; running again applies nothing."""
    assert migrator.existing_versions() == ()
    result = migrator.migrate_up()
    assert (result.direction, versions(result)) == (Direction.UP, ALL)
    assert all(moved.seconds > 0 and moved.sql for moved in result.versions)
    assert versions(migrator.migrate_up()) == ()
    assert migrator.existing_versions() == ALL


def test_names_and_versions_are_rivers() -> None:
    """Both databases have River's file names, so that other tools show the same list."""
    for dialect, file in ((Dialect.POSTGRES, "migrations.json"), (Dialect.SQLITE, "migrations-sqlite.json")):
        names = [entry["path"].rpartition("/")[2] for entry in load(f"upstream/{file}")["files"]]
        rivers = [(each.version, each.name) for each in read_line((name, "SELECT 1") for name in names)]
        with closing(open_driver("sqlite://" if dialect is Dialect.SQLITE else "postgres://")) as driver:
            assert [(each.version, each.name) for each in Migrator(driver).all_versions()] == rivers


def test_no_template_is_left_in_the_sql(migrator: Migrator) -> None:
    """What is shown and run has its schema filled in."""
    assert not [each.version for each in migrator.all_versions() if "TEMPLATE" in each.up + each.down]


def test_a_failing_version_leaves_the_one_before(empty: Driver) -> None:
    """A version and its row are one transaction: what failed leaves neither, what went before stays.

    Checklist 2.
    """
    Migrator(empty).migrate_up()
    extra = Migrator(empty, line="extra", extra_lines={"extra": EXTRA})
    with pytest.raises(MigrationError, match=r"version 2 failed on its way up.*no_such_column") as caught:
        extra.migrate_up()
    assert isinstance(caught.value.__cause__, DatabaseError)
    assert extra.existing_versions() == (1,)
    assert run(empty, "SELECT * FROM extra_one") == []
    with pytest.raises(DatabaseError):
        run(empty, "SELECT * FROM extra_two")


def test_a_failing_way_down_keeps_its_version(empty: Driver) -> None:
    """Checklist 2. A version that cannot be taken back stays recorded with everything it made."""
    Migrator(empty).migrate_up()
    good = (EXTRA[0], Migration(2, "second", "CREATE TABLE extra_two (id INTEGER)", EXTRA[1].down))
    extra = Migrator(empty, line="extra", extra_lines={"extra": good})
    extra.migrate_up()
    with pytest.raises(MigrationError, match="version 2 failed on its way down"):
        extra.migrate_down()
    assert extra.existing_versions() == (1, 2)
    assert run(empty, "SELECT * FROM extra_two") == []


@pytest.mark.postgres
def test_versions_4_and_6_cannot_share_a_transaction(postgres_url: str) -> None:
    """The new enum value must be committed before it is used: the reason for one transaction per version.

    Postgres 17 and newer let it be used where the type itself is of the same transaction. Checklist 3.
    """
    with closing(open_driver(postgres_url)) as driver:
        migrator = Migrator(driver)
        migrator.migrate_up(target_version=3)
        together = "\n".join(each.up for each in migrator.all_versions()[3:7])
        with driver.connect() as connection, pytest.raises(DatabaseError, match="unsafe use of new value"):
            connection.run_script(f"BEGIN;\n{together}\nCOMMIT;")


def test_rows_of_river_migration(empty: Driver, migrator: Migrator) -> None:
    """Until version 4 a row has only a version; from version 5 on every row carries line main.

    Checklist 4.
    """
    migrator.migrate_up(target_version=4)
    assert [tuple(row) for row in run(empty, "SELECT id, version FROM river_migration ORDER BY id")] == [
        (1, 1), (2, 2), (3, 3), (4, 4)
    ]  # fmt: skip
    migrator.migrate_up()
    rows = run(empty, "SELECT line, version, created_at IS NOT NULL FROM river_migration ORDER BY version")
    assert [(line, version, bool(dated)) for line, version, dated in rows] == [
        ("main", version, True) for version in ALL
    ]
    migrator.migrate_down(target_version=4)
    assert [row[0] for row in run(empty, "SELECT version FROM river_migration ORDER BY id")] == [1, 2, 3, 4]


def test_down_takes_one_step_unless_told(migrator: Migrator) -> None:
    """Without limits one version goes, with a number of steps that many, with a target all above it.

    Checklist 5.
    """
    migrator.migrate_up()
    assert versions(migrator.migrate_down()) == (8,)
    assert versions(migrator.migrate_down(max_steps=2)) == (7, 6)
    assert versions(migrator.migrate_down(target_version=3)) == (5, 4)
    assert versions(migrator.migrate_down(EVERYTHING)) == (3, 2, 1)
    assert versions(migrator.migrate_down()) == ()
    assert versions(migrator.migrate_up()) == ALL
    assert versions(migrator.migrate_down(0)) == ALL[::-1]


def test_limits_of_the_way_up(migrator: Migrator) -> None:
    """Steps and target limit what is applied; no steps, and a target that is there, apply nothing.

    Checklist 8.
    """
    assert versions(migrator.migrate_up(max_steps=NO_STEPS)) == ()
    assert versions(migrator.migrate_up(max_steps=2)) == (1, 2)
    assert versions(migrator.migrate_up(target_version=5)) == (3, 4, 5)
    assert versions(migrator.migrate_up(target_version=4)) == ()
    assert versions(migrator.migrate_up(target_version=8, max_steps=1)) == (6,)
    assert versions(migrator.migrate_down(max_steps=NO_STEPS)) == ()


@pytest.mark.parametrize("version", [-2, 9, 77])
def test_unknown_versions_are_errors(migrator: Migrator, version: int) -> None:
    """Checklist 8. A version that no migration has is refused in both directions and by validate."""
    migrator.migrate_up()
    for act in (migrator.migrate_up, migrator.migrate_down, migrator.validate, migrator.get_version):
        with pytest.raises(MigrationError, match=f"version {version} is not a valid River migration version"):
            act(version)


def test_down_to_what_was_never_applied_is_an_error(migrator: Migrator) -> None:
    """Checklist 8. A way down cannot end above where the schema is."""
    migrator.migrate_up(target_version=3)
    with pytest.raises(MigrationError, match="version 5 is not applied"):
        migrator.migrate_down(target_version=5)
    assert migrator.existing_versions() == (1, 2, 3)


def test_a_dry_run_reports_and_changes_nothing(migrator: Migrator) -> None:
    """It names the same versions with the same SQL as the run that follows, in both directions.

    Checklist 9.
    """
    foreseen = migrator.migrate_up(dry_run=True)
    assert migrator.existing_versions() == ()
    done = migrator.migrate_up()
    assert [(one.version, one.name, one.sql) for one in foreseen.versions] == [
        (one.version, one.name, one.sql) for one in done.versions
    ]
    assert versions(migrator.migrate_down(EVERYTHING, dry_run=True)) == ALL[::-1]
    assert migrator.existing_versions() == ALL
    assert {moved.seconds for moved in foreseen.versions} == {0.0}


def test_versions_of_another_client_are_skipped(empty: Driver, migrator: Migrator) -> None:
    """Checklist 10. What another client applied and recorded is taken as it is."""
    with empty.connect() as connection:
        for migration in migrator.all_versions()[:3]:
            connection.run_script(migration.up)
    for version in (1, 2, 3):
        run(empty, "INSERT INTO river_migration (version) VALUES (@version)", version=version)
    assert versions(migrator.migrate_up()) == (4, 5, 6, 7, 8)


def test_two_migrators_at_once_share_the_work(database_url: str) -> None:
    """Whoever comes second waits, sees what is done and does only the rest."""
    with closing(open_driver(database_url)) as one, closing(open_driver(database_url)) as two:
        with ThreadPoolExecutor(max_workers=2) as pool:
            results = list(pool.map(lambda driver: versions(Migrator(driver).migrate_up()), (one, two)))
        assert sorted(results[0] + results[1]) == list(ALL)
        assert Migrator(one).existing_versions() == ALL


def test_a_gap_is_an_error(empty: Driver, migrator: Migrator) -> None:
    """A record that misses a version in the middle does not say what the schema is."""
    migrator.migrate_up()
    run(empty, "DELETE FROM river_migration WHERE version IN (3, 6)")
    for act in (migrator.migrate_up, migrator.migrate_down):
        with pytest.raises(MigrationError, match=r"version 8 of line 'main' but not \[3, 6\]"):
            act()
    assert migrator.validate() == ValidateResult(False, ("Unapplied migrations: [3, 6]",))


def test_a_newer_schema_is_usable_but_not_taken_back(
    empty: Driver, migrator: Migrator, caplog: pytest.LogCaptureFixture
) -> None:
    """With a version of a newer client up warns and does nothing, down refuses, validate is content."""
    migrator.migrate_up()
    run(empty, "INSERT INTO river_migration (line, version) VALUES ('main', 9)")
    with caplog.at_level(logging.WARNING, logger="river_core.migrate"):
        assert versions(migrator.migrate_up()) == ()
    assert [record.message for record in caplog.records] == ["schema was migrated by a newer client"]
    with pytest.raises(MigrationError, match=r"versions \[9\].*newer client"):
        migrator.migrate_down()
    assert migrator.existing_versions() == (*ALL, 9)
    assert migrator.validate().ok


def test_validate_lists_what_is_missing(migrator: Migrator) -> None:
    """One message with the missing versions in order; a target bounds the check."""
    assert migrator.validate().messages == ("Unapplied migrations: [1, 2, 3, 4, 5, 6, 7, 8]",)
    migrator.migrate_up(target_version=6)
    assert migrator.validate() == ValidateResult(False, ("Unapplied migrations: [7, 8]",))
    assert migrator.validate(6) == ValidateResult(True)
    migrator.migrate_up()
    assert migrator.validate() == ValidateResult(True)


def test_an_unknown_line_is_refused_with_a_suggestion(empty: Driver) -> None:
    """Checklist 11. A slip of two letters is recognised; for anything else the known lines are listed."""
    with pytest.raises(MigrationError, match=r"migration line does not exist: mian.*'main'"):
        Migrator(empty, line="mian")
    with pytest.raises(MigrationError, match=r"does not exist: other \(known: main\)"):
        Migrator(empty, line="other")


def test_another_line_needs_the_main_one_first(empty: Driver, migrator: Migrator) -> None:
    """Checklist 11. Without river_migration, or before its column line, only main can be migrated."""
    extra = Migrator(empty, line="extra", extra_lines={"extra": EXTRA[:1]})
    for target in (None, 4):
        if target:
            migrator.migrate_up(target_version=target)
        with pytest.raises(MigrationError, match="migrate line 'main' fully first"):
            extra.migrate_up()
    migrator.migrate_up()
    assert versions(extra.migrate_up()) == (1,)
    assert migrator.existing_versions() == ALL
    assert versions(extra.migrate_down()) == (1,)
    assert extra.existing_versions() == ()


def test_version_5_is_not_taken_back_while_another_line_is_recorded(
    empty: Driver, migrator: Migrator
) -> None:
    """Its way down would forget the other line, so it fails and leaves everything at version 5.

    Checklist 7.
    """
    migrator.migrate_up(target_version=5)
    run(empty, "INSERT INTO river_migration (line, version) VALUES ('other', 7)")
    with pytest.raises(MigrationError, match="version 5 failed on its way down"):
        migrator.migrate_down()
    assert migrator.existing_versions() == (1, 2, 3, 4, 5)
    run(empty, "DELETE FROM river_migration WHERE line = 'other'")
    assert versions(migrator.migrate_down()) == (5,)


@pytest.mark.parametrize("schema", ["1st", "with space", "dash-ed", 'quo"ted', "é", "s" * 47])
def test_schema_names_that_clients_refuse(schema: str) -> None:
    """A schema outside River's pattern, or longer than its channels allow, is a configuration error.

    Checklist 12.
    """
    with pytest.raises(ConfigurationError, match="schema"):
        Sql(Dialect.POSTGRES, schema)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (
            {"001_a.up.sql": "x", "001_a.down.sql": "x", "003_c.up.sql": "x", "003_c.down.sql": "x"},
            "should be 2",
        ),
        ({"002_b.up.sql": "x", "002_b.down.sql": "x"}, "should be 1"),
        ({"001_a.up.sql": "x"}, "both directions"),
        ({"001_a.up.sql": "x", "001_a.down.sql": " \n"}, "both directions"),
    ],
)
def test_a_line_must_be_whole(empty: Driver, files: dict[str, str], reason: str) -> None:
    """Versions count from 1 without gaps, and each has a way up and a way down."""
    with pytest.raises(ConfigurationError, match=reason):
        Migrator(empty, line="extra", extra_lines={"extra": read_line(files.items())})


def test_names_come_from_file_names() -> None:
    """The name stands between the first underscore and the first dot, with blanks for underscores."""
    (migration,) = read_line([("012_two_words.up.sql", "up"), ("012_two_words.down.sql", "down")])
    assert migration == Migration(12, "two words", "up", "down")
