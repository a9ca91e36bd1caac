"""What the user said before the command's own options, as one value, and the options that say it.

The database options may stand before or after the command, as River's own command line has them
after it; what stands after wins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import click

URL_VARIABLES = ("RIVER_DATABASE_URL", "DATABASE_URL")
LIBPQ_VARIABLES = ("PGDATABASE", "PGHOST", "PGSERVICE")
LIBPQ_URL = "postgresql://"


@dataclass(frozen=True, slots=True)
class Invocation:
    """The global options; None and "" mean that the option was not given."""

    app: Any = None
    """What names the application, or the application itself."""
    database_url: str | None = None
    schema: str = ""
    as_json: bool = False
    verbosity: int = 0

    def merged(self, database_url: str | None, schema: str | None, as_json: bool) -> Invocation:
        """Return a copy in which the options that stood after the command win."""
        return replace(
            self,
            database_url=database_url or self.database_url,
            schema=schema or self.schema,
            as_json=as_json or self.as_json,
        )


def url_from_environment(environment: Mapping[str, str]) -> str | None:
    """Return the database that the environment names, or None.

    RIVER_DATABASE_URL comes first, then DATABASE_URL, then libpq's variables, which a bare
    `postgresql://` leaves to libpq.
    """
    for name in URL_VARIABLES:
        if environment.get(name):
            return environment[name]
    return LIBPQ_URL if any(environment.get(name) for name in LIBPQ_VARIABLES) else None


def database_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `-d`, `--schema` and `--json` to a command or group."""
    add_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
    add_schema = click.option(
        "--schema", metavar="NAME", help="Postgres schema of River's tables [default: the search_path's]."
    )
    add_url = click.option(
        "-d",
        "--database-url",
        metavar="URL",
        help="River's database, postgresql://… or sqlite:///file "
        "[default: with -A the application's, else RIVER_DATABASE_URL, DATABASE_URL, PG* variables].",
    )
    return add_url(add_schema(add_json(command)))


def takes_invocation(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the merged `Invocation` as its first argument, and the database options.

    `-A` after the command, as people write it from memory, is refused with where it belongs.
    """

    @click.pass_obj
    @wraps(command)
    def run(
        invocation: Invocation,
        /,
        *args: Any,
        database_url: str | None,
        schema: str | None,
        as_json: bool,
        **options: Any,
    ) -> Any:
        return command(invocation.merged(database_url, schema, as_json), *args, **options)

    misplaced = click.option("-A", "--app", hidden=True, expose_value=False, callback=_refuse_application)
    return database_options(misplaced(run))


def _refuse_application(context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value is not None:
        command = context.command_path.removeprefix(f"{context.find_root().command_path} ")
        raise click.UsageError(
            f"-A stands before the command: river-compat -A {value} {command}", context.find_root()
        )
