"""Celery's own command line: `celery -A proj worker -l INFO ...` with Celery's global options."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from river_compat.celery import Celery
from river_compat.cli import logs
from river_compat.cli.invocation import Invocation
from river_compat.cli.lazy import LazyGroup
from river_compat.cli.main import COMMANDS, MISSING, WORKER, run

NAMES = (
    "worker",
    "beat",
    "call",
    "control",
    "inspect",
    "purge",
    "report",
    "result",
    "shell",
    "status",
)
HINTS = {
    **MISSING,
    "migrate": "tasks of an old broker are moved as the migration guide says; River's schema is made by "
    "`river-compat migrate up`",
}


@click.group(
    cls=LazyGroup,
    table={name: COMMANDS[name] for name in NAMES if name in COMMANDS},
    missing=HINTS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "-A", "--app", envvar="APP", metavar="APP", help="The application: proj, proj:app or proj.celery."
)
@click.option("-b", "--broker", metavar="URL", help="River's database, postgresql://… or sqlite:///file.")
@click.option("--result-backend", hidden=True, expose_value=False)
@click.option("--loader", hidden=True, expose_value=False)
@click.option("--config", metavar="MODULE", help="Read the settings from this module.")
@click.option(
    "--workdir", type=click.Path(file_okay=False, path_type=Path), help="Change to this directory first."
)
@click.option("-C", "--no-color", is_flag=True, hidden=True, expose_value=False)
@click.option("-q", "--quiet", is_flag=True, help="Say only what went wrong.")
@click.option("--skip-checks", is_flag=True, hidden=True, expose_value=False)
@click.version_option(version("river-compat"), prog_name="celery (river-compat)")
@click.pass_context
def celery(
    context: click.Context,
    app: str | None,
    broker: str | None,
    config: str | None,
    workdir: Path | None,
    quiet: bool,
) -> None:
    """Celery's command line on River: Postgres or SQLite is the queue."""
    if workdir is not None:
        os.chdir(workdir)
    if config is not None:
        os.environ["CELERY_CONFIG_MODULE"] = config
    given = context.obj if isinstance(context.obj, Celery) else None
    context.obj = Invocation(app or given, broker, verbosity=-int(quiet))
    if context.invoked_subcommand != WORKER:
        logs.configure_for_command(-int(quiet))


def main(arguments: Sequence[str] | None = None, app: Any = None) -> int:
    """Run one command, of the application that is given or named, and return its exit code."""
    return run(celery, arguments, "celery", app)
