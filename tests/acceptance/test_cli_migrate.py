"""`river-compat migrate` on both databases, judged by the tables and by `river_migration`."""

from __future__ import annotations

import json

from tests.acceptance.commands import query, run

LATEST = 8


def recorded(url: str) -> list[int]:
    """The versions that the database says it has."""
    return [version for (version,) in query(url, "SELECT version FROM river_migration ORDER BY version")]


def pending(url: str) -> int:
    """How many versions `migrate status` calls pending."""
    lines = run("-d", url, "migrate", "status").stdout.splitlines()
    return sum(line.startswith("pending ") for line in lines)


def test_up_creates_everything_and_is_harmless_twice(database_url: str) -> None:
    """The first `up` applies versions 1 to 8, the second one nothing."""
    first = run("-d", database_url, "migrate", "up")
    assert (first.code, first.stdout.count("applied")) == (0, LATEST), first.stderr
    assert recorded(database_url) == list(range(1, LATEST + 1))
    assert run("-q", "-d", database_url, "migrate", "up").stdout == ""
    assert query(database_url, "SELECT count(*) FROM river_job") == [(0,)]
    assert run("-d", database_url, "migrate", "up").stdout == "nothing to do\n"


def test_options_may_stand_after_the_command_as_upstream_has_them(database_url: str) -> None:
    """`migrate-up --database-url URL --line main --target-version 4` is River's own spelling."""
    ran = run("migrate-up", "--database-url", database_url, "--line", "main", "--target-version", "4")
    assert ran.code == 0, ran.stderr
    assert recorded(database_url) == [1, 2, 3, 4]
    assert run("migrate-up", "--database-url", database_url, "--max-steps", "1").code == 0
    assert recorded(database_url) == [1, 2, 3, 4, 5]


def test_dry_run_says_everything_and_changes_nothing(database_url: str) -> None:
    """`--dry-run --show-sql` prints each version and its SQL; the database stays empty."""
    ran = run("-d", database_url, "migrate", "up", "--dry-run", "--show-sql")
    assert ran.stdout.count("would apply") == LATEST
    assert "CREATE TABLE" in ran.stdout
    assert pending(database_url) == LATEST


def test_status_has_one_line_a_version(database_url: str) -> None:
    """The shape is `applied|pending <version> <name>`."""
    run("-d", database_url, "migrate", "up", "--target", "6")
    lines = run("-d", database_url, "migrate-status").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [
        ["applied" if version <= 6 else "pending", str(version)] for version in range(1, LATEST + 1)
    ]
    assert all(len(line.split(maxsplit=2)) == 3 for line in lines)


def test_list_marks_the_current_version(database_url: str) -> None:
    """With a database the list marks where it stands, without one it marks nothing."""
    run("-d", database_url, "migrate", "up", "--target", "6")
    marked = [
        line
        for line in run("-d", database_url, "migrate", "list").stdout.splitlines()
        if line.startswith("*")
    ]
    assert [line.split()[1] for line in marked] == ["006"]
    assert "*" not in run("migrate", "list").stdout


def test_down_takes_one_step_and_asks_first(database_url: str) -> None:
    """Without `--yes` the answer decides; `--target 0` takes everything."""
    run("-d", database_url, "migrate", "up")
    refused = run("-d", database_url, "migrate", "down", stdin="n\n")
    assert (refused.code, recorded(database_url)[-1]) == (1, LATEST)
    assert run("-d", database_url, "migrate", "down", "--yes").code == 0
    assert recorded(database_url)[-1] == LATEST - 1
    assert run("-d", database_url, "migrate-down", "--target", "0", "--yes").code == 0
    assert pending(database_url) == LATEST


def test_validate_is_a_check(database_url: str) -> None:
    """It exits with 4 and names what is missing, and with 0 when nothing is."""
    run("-d", database_url, "migrate", "up", "--target", "7")
    behind = run("-d", database_url, "migrate", "validate")
    assert (behind.code, "[8]" in behind.stdout) == (4, True)
    assert run("-d", database_url, "validate", "--target", "7").code == 0
    run("-d", database_url, "migrate", "up")
    assert json.loads(run("-d", database_url, "validate", "--json").stdout)["ok"] is True


def test_get_prints_sql_that_runs(postgres_url: str) -> None:
    """The SQL of all versions, run by hand, makes the tables; version 1 can be left out."""
    printed = run("migrate", "get", "--all", "--exclude-version", "1", "--up")
    assert printed.code == 0
    assert "river_migration" in run("migrate-get", "--version", "1").stdout
    for statement in printed.stdout.split("-- version")[1:]:
        query(postgres_url, statement.partition("\n")[2])
    assert query(postgres_url, "SELECT count(*) FROM river_job") == [(0,)]


def test_get_speaks_both_dialects() -> None:
    """The dialect comes from the option or the URL, newest first on the way down."""
    assert run("migrate", "get", "--version", "2", "--dialect", "sqlite").stdout == (
        run("-d", "sqlite://", "migrate", "get", "--version", "2").stdout
    )
    down = run("migrate", "get", "--all", "--down").stdout
    assert down.index("-- version 8") < down.index("-- version 2")


def test_a_schema_of_its_own(postgres_url: str) -> None:
    """`--schema` puts the tables there and nowhere else."""
    query(postgres_url, "CREATE SCHEMA jobs_of_river")
    assert run("-d", postgres_url, "--schema", "jobs_of_river", "migrate", "up").code == 0
    assert query(postgres_url, "SELECT count(*) FROM jobs_of_river.river_job") == [(0,)]
    assert query(postgres_url, "SELECT to_regclass('river_job')") == [(None,)]
