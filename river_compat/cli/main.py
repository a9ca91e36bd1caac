"""The `river-compat` command: global options, the table of commands, errors as exit codes.

Commands are imported when they run; `--help` loads no database driver and no adapter.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from river_compat.cli import logs
from river_compat.cli.exits import Exit, report
from river_compat.cli.invocation import Invocation, database_options
from river_compat.cli.lazy import LazyCommand, LazyGroup
from river_core.errors import RiverError

WORKER = "worker"
BEAT = "beat"
_MIGRATE = "river_compat.cli.migrate"
_REMOTE = "river_compat.cli.remote"
_TASKS = "river_compat.cli.tasks"
COMMANDS = {
    WORKER: LazyCommand("river_compat.cli.worker:worker", "Run the tasks of a Celery application."),
    BEAT: LazyCommand("river_compat.cli.beat:beat", "Send the periodic tasks of a Celery application."),
    "inspect": LazyCommand(f"{_REMOTE}:inspect", "Ask workers: ping, active, stats, registered, …"),
    "control": LazyCommand(f"{_REMOTE}:control", "Tell workers what to do: shutdown, rate_limit, …"),
    "status": LazyCommand(f"{_REMOTE}:status", "List the workers that answer."),
    "call": LazyCommand(f"{_TASKS}:call", "Send a task by its name."),
    "result": LazyCommand(f"{_TASKS}:result", "Print the result of a task."),
    "purge": LazyCommand(f"{_TASKS}:purge", "Delete the waiting tasks of the application's queues."),
    "shell": LazyCommand("river_compat.cli.shell:shell", "Start Python with the application at hand."),
    "report": LazyCommand("river_compat.cli.shell:report", "Print what a bug report needs."),
    "doctor": LazyCommand("river_compat.cli.doctor:doctor", "Find what would be lost or would not run."),
    "migrate": LazyCommand(f"{_MIGRATE}:migrate", "Create, update, list or check River's schema."),
    "demo": LazyCommand(
        "river_compat.cli.demo:demo", "Run a small application on a SQLite file and show it."
    ),
    "version": LazyCommand("river_compat.cli.version:show_version", "Print the versions in use."),
    "migrate-up": LazyCommand(f"{_MIGRATE}:up", "As `migrate up`.", hidden=True),
    "migrate-down": LazyCommand(f"{_MIGRATE}:down", "As `migrate down`.", hidden=True),
    "migrate-list": LazyCommand(f"{_MIGRATE}:list_versions", "As `migrate list`.", hidden=True),
    "migrate-get": LazyCommand(f"{_MIGRATE}:get", "As `migrate get`.", hidden=True),
    "migrate-status": LazyCommand(f"{_MIGRATE}:status", "As `migrate status`.", hidden=True),
    "validate": LazyCommand(f"{_MIGRATE}:validate", "As `migrate validate`.", hidden=True),
}
_READ_ROWS = "workers send no events; ask them by `inspect`, or read the rows of river_job by SQL"
MISSING = {
    "amqp": "there is no broker; the queue is the table river_job",
    "events": _READ_ROWS,
    "flower": _READ_ROWS,
    "graph": _READ_ROWS,
    "list": "there are no bindings; `river-compat migrate list` prints the schema's versions",
    "logtool": "it is not there; `worker --log-format json` writes a log that tools read",
    "multi": "it is not there; start each worker under systemd, supervisord or in a container",
    "upgrade": "it is not needed; settings are taken by their old and new names",
}
"""Commands of `celery` that are not here, and what to do instead."""


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    missing=MISSING,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("-A", "--app", metavar="APP", help="The application: proj, proj:app or proj.celery.")
@click.option(
    "--workdir", type=click.Path(file_okay=False, path_type=Path), help="Change to this directory first."
)
@database_options
@click.option("-q", "--quiet", is_flag=True, help="Say only what went wrong.")
@click.option("-v", "--verbose", is_flag=True, help="Say more, with tracebacks.")
@click.version_option(version("river-compat"), prog_name="river-compat")
@click.pass_context
def cli(
    context: click.Context,
    app: str | None,
    workdir: Path | None,
    database_url: str | None,
    schema: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Celery code on River: Postgres or SQLite is the queue."""
    if workdir is not None:
        os.chdir(workdir)
    verbosity = int(verbose) - int(quiet)
    context.obj = Invocation(app, database_url, schema or "", as_json, verbosity)
    if context.invoked_subcommand not in (WORKER, BEAT):  # they configure logging by their own options
        logs.configure_for_command(verbosity)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors are one line on standard error."""
    return run(cli, arguments, "river-compat")


def run(group: click.Group, arguments: Sequence[str] | None, name: str, app: Any = None) -> int:
    """Run one command of a group, for the application that is given or named."""
    given = None if arguments is None else list(arguments)
    try:
        result = group.main(args=given, prog_name=name, standalone_mode=False, obj=app)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("aborted", err=True)
        return Exit.FAILED
    except _reported() as error:
        return report(error)
    except BrokenPipeError:
        return _close_stdout()
    return result if isinstance(result, int) else Exit.OK


def _reported() -> tuple[type[Exception], ...]:
    """Return our errors, and what the parts with Celery's API raise while the database is away."""
    kombu = sys.modules.get("kombu.exceptions")  # not imported for this: `--help` is quick
    return (RiverError,) if kombu is None else (RiverError, kombu.OperationalError)


def _close_stdout() -> int:
    """Keep the interpreter from complaining about a reader, such as `head`, that went away."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.FAILED
