"""`river-compat migrate`: River's schema up, down, listed, printed and validated.

The options are the union of those of River's own command lines; `migrate-up` and its like are the
same commands under upstream's names.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from river_compat.cli.database import (
    open_database,
    open_existing,
    open_for_dry_run,
    open_for_texts,
)
from river_compat.cli.exits import Exit
from river_compat.cli.invocation import Invocation, takes_invocation
from river_core.migrate import Direction, MigrateResult, Migrator

line_option = click.option("--line", default="main", metavar="NAME", help="Migration line [default: main].")
target_option = click.option("--target", "--target-version", type=int, metavar="N", help="Version to end at.")


def moving_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what `up` and `down` have in common."""
    steps = click.option("--max-steps", "--steps", type=int, metavar="N", help="Move at most N versions.")
    dry_run = click.option("--dry-run", is_flag=True, help="Say what would be done; change nothing.")
    show_sql = click.option("--show-sql", is_flag=True, help="Print the SQL of each version.")
    return target_option(steps(dry_run(show_sql(line_option(takes_invocation(command))))))


@click.group()
def migrate() -> None:
    """Create, update, list or check River's schema."""


@migrate.command()
@moving_options
def up(
    invocation: Invocation,
    line: str,
    target: int | None,
    max_steps: int | None,
    dry_run: bool,
    show_sql: bool,
) -> None:
    """Apply the versions that are missing."""
    opened = open_for_dry_run(invocation) if dry_run else open_database(invocation)
    with opened as driver:
        result = Migrator(driver, line=line).migrate_up(target, max_steps, dry_run=dry_run)
    _print_moved(invocation, result, dry_run, show_sql)


@migrate.command()
@moving_options
@click.option("--yes", is_flag=True, help="Do not ask.")
def down(
    invocation: Invocation,
    line: str,
    target: int | None,
    max_steps: int | None,
    dry_run: bool,
    show_sql: bool,
    yes: bool,
) -> None:
    """Take back the latest version, or more.

    `--target 0` removes everything, jobs included.
    """
    if not (yes or dry_run):
        click.confirm("This changes or removes River's tables. Go on?", abort=True, err=True)
    with open_existing(invocation) as driver:
        result = Migrator(driver, line=line).migrate_down(target, max_steps, dry_run=dry_run)
    _print_moved(invocation, result, dry_run, show_sql)


@migrate.command("list")
@line_option
@takes_invocation
def list_versions(invocation: Invocation, line: str) -> None:
    """Print every version.

    Where a database is named, a star marks the version that it has.
    """
    with open_for_texts(invocation) as (driver, place):
        migrator = Migrator(driver, line=line)
        if place is not None:
            place.check_exists()
        current = 0 if place is None else max(migrator.existing_versions(), default=0)
        versions = [(each.version, each.name, each.version == current) for each in migrator.all_versions()]
    if invocation.as_json:
        click.echo(json.dumps([{"version": n, "name": name, "current": here} for n, name, here in versions]))
        return
    for number, name, here in versions:
        click.echo(f"{'*' if here else ' '} {number:03d} {name}")


@migrate.command()
@line_option
@takes_invocation
def status(invocation: Invocation, line: str) -> None:
    """Print what is applied and what is pending.

    One line each: `applied` or `pending`, the version, the name.
    """
    with open_existing(invocation) as driver:
        migrator = Migrator(driver, line=line)
        existing = migrator.existing_versions()
        known = {each.version: each.name for each in migrator.all_versions()}
    names = known | {version: "(of a newer client)" for version in existing if version not in known}
    rows = [("applied" if version in existing else "pending", version, names[version]) for version in names]
    if invocation.as_json:
        keys = ("state", "version", "name")
        click.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows]))
        return
    for state, version, name in rows:
        click.echo(f"{state} {version} {name}")


def _versions(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> list[int]:
    """Read `--version 1,2 --version 3`."""
    try:
        return [int(number) for value in values for number in value.split(",")]
    except ValueError as error:
        raise click.BadParameter(f"{values!r} is not a list of versions such as 1,2,3") from error


@migrate.command()
@click.option(
    "--version", "wanted", multiple=True, metavar="N,…", callback=_versions, help="Versions to print."
)
@click.option("--all", "every", is_flag=True, help="Print all; downward the newest first.")
@click.option(
    "--exclude-version",
    "excluded",
    multiple=True,
    metavar="N,…",
    callback=_versions,
    help="Versions to leave out.",
)
@click.option("--up", "direction", flag_value="up", default="up", help="The SQL that applies [default].")
@click.option("--down", "direction", flag_value="down", help="The SQL that takes back.")
@click.option(
    "--dialect", type=click.Choice(["postgres", "sqlite"]), help="[default: that of -d, else postgres]"
)
@line_option
@takes_invocation
def get(
    invocation: Invocation,
    line: str,
    wanted: list[int],
    every: bool,
    excluded: list[int],
    direction: str,
    dialect: str | None,
) -> None:
    """Print the SQL of versions, for other tools.

    Without a database the SQL is that of Postgres.
    """
    if every == bool(wanted):
        raise click.UsageError("give either --version N or --all")
    with open_for_texts(invocation, dialect) as (driver, _):
        migrator = Migrator(driver, line=line)
        known = migrator.all_versions()
        chosen = list(known if direction == "up" else reversed(known)) if every else []
        chosen += [migrator.get_version(number) for number in wanted]
    texts = [
        f"-- version {each.version}, {direction}: {each.name}\n{getattr(each, direction).strip()}"
        for each in chosen
        if each.version not in excluded
    ]
    click.echo("\n\n".join(texts))


@migrate.command()
@target_option
@line_option
@takes_invocation
def validate(invocation: Invocation, line: str, target: int | None) -> int:
    """Check that every version is applied.

    Exits with 4, and names what is missing, when one is not.
    """
    with open_existing(invocation) as driver:
        result = Migrator(driver, line=line).validate(target)
    if invocation.as_json:
        click.echo(json.dumps({"ok": result.ok, "messages": result.messages}))
    else:
        for message in result.messages or ("every version is applied",):
            click.echo(message)
    return Exit.OK if result.ok else Exit.CHECK_FAILED


def _print_moved(invocation: Invocation, result: MigrateResult, dry_run: bool, show_sql: bool) -> None:
    if invocation.as_json:
        click.echo(json.dumps(_as_data(result, dry_run, show_sql)))
        return
    if invocation.verbosity < 0 and not (dry_run or show_sql):
        return
    done = {Direction.UP: "applied", Direction.DOWN: "took back"}[result.direction]
    planned = {Direction.UP: "would apply", Direction.DOWN: "would take back"}[result.direction]
    for each in result.versions:
        time = "" if dry_run else f" ({each.seconds * 1000:.0f} ms)"
        click.echo(f"{planned if dry_run else done} {each.version:03d} {each.name}{time}")
        if show_sql:
            click.echo(f"{each.sql.strip()}\n")
    if not result.versions:
        click.echo("nothing to do")


def _as_data(result: MigrateResult, dry_run: bool, show_sql: bool) -> dict[str, Any]:
    versions = [
        {"version": each.version, "name": each.name, "seconds": round(each.seconds, 6)}
        | ({"sql": each.sql} if show_sql else {})
        for each in result.versions
    ]
    return {"direction": result.direction.value, "dry_run": dry_run, "versions": versions}
