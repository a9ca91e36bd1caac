"""`river-compat worker`: builds the worker of a Celery application and runs it as this process."""

from __future__ import annotations

import gc
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click

from river_compat.celery import Celery, signals
from river_compat.celery.app.log import level_number
from river_compat.celery.app.purging import TaskConsumer
from river_compat.celery.command import WorkerOptions, build_worker
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.spawned import FORK, SPAWN
from river_compat.celery.utils.nodenames import default_nodename
from river_compat.celery.worker_life import WorkerLife
from river_compat.cli import logs
from river_compat.cli.application import application, place_of_application
from river_compat.cli.banner import banner
from river_compat.cli.boot import check_schema
from river_compat.cli.celery_flags import accept_celery_flags, notice
from river_compat.cli.embedded_beat import BesideBeat, beat_options
from river_compat.cli.invocation import Invocation, takes_invocation
from river_compat.cli.notices import say_notices
from river_compat.cli.process_options import NamedBy, process_options
from river_compat.cli.worker_log import WorkerJsonFormatter
from river_core import Worker, run_worker

Command = Callable[..., Any]

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "FATAL")


def _names(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Read names separated by commas; an option that is given twice adds to itself."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


def names_option(*spellings: str, text: str) -> Callable[[Command], Command]:
    """Return an option that takes comma-separated names."""
    return click.option(*spellings, multiple=True, metavar="NAMES", callback=_names, help=text)


@click.command()
@names_option("-Q", "--queues", text="Queues to work [default: those of the settings].")
@names_option("-X", "--exclude-queues", text="Queues of the settings not to work.")
@click.option("-c", "--concurrency", metavar="N", help="How many tasks at once [default: the CPUs].")
@click.option(
    "-P",
    "--pool",
    metavar="POOL",
    help="prefork [default], threads, or solo: one task at a time.",
)
@click.option("-n", "--hostname", metavar="NAME", help="Name of this worker; %h, %n and %d are filled in.")
@click.option(
    "-l",
    "--loglevel",
    type=click.Choice(LEVELS, case_sensitive=False),
    default="WARNING",
    metavar="LEVEL",
    help="DEBUG, INFO, WARNING [default], ERROR or CRITICAL.",
)
@click.option(
    "-f",
    "--logfile",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the log goes [default: standard error].",
)
@click.option(
    "--log-format",
    type=click.Choice(logs.FORMATS),
    default="text",
    help="How log lines look [default: text].",
)
@names_option("-I", "--include", text="Modules to import first.")
@click.option(
    "--stop-timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="How long running tasks may take to finish at a stop [default: no limit].",
)
@click.option(
    "--poll-only", is_flag=True, help="Never LISTEN, as behind a pooler: look for tasks every second."
)
@click.option(
    "--time-limit", type=float, metavar="SECONDS", help="End a task after this time [default: no limit]."
)
@click.option(
    "--soft-time-limit", type=float, metavar="SECONDS", help="Raise SoftTimeLimitExceeded in a task after it."
)
@click.option(
    "--max-tasks-per-child", type=int, metavar="N", help="Replace a child process after so many tasks."
)
@click.option(
    "--pool-start-method",
    type=click.Choice((FORK, SPAWN)),
    help="How child processes are made [default: fork; spawn on macOS].",
)
@click.option(
    "--max-memory-per-child", type=int, metavar="KIB", help="Replace a child process that holds more memory."
)
@click.option("--autoscale", metavar="MAX,MIN", help="How many child processes at most and at least.")
@click.option("-b", "--broker", metavar="URL", help="The same as -d.")
@click.option(
    "--purge", "--discard", is_flag=True, help="Delete the waiting tasks of the application's queues first."
)
@click.argument("settings", nargs=-1)
@beat_options
@process_options
@accept_celery_flags
@takes_invocation
def worker(
    invocation: Invocation,
    loglevel: str,
    logfile: Path | None,
    log_format: str,
    stop_timeout: float | None,
    broker: str | None,
    hostname: str | None,
    purge: bool,
    settings: tuple[str, ...],
    beside_beat: BesideBeat,
    named_by: NamedBy,
    **options: Any,
) -> int:
    """Run the tasks of a Celery application until told to stop.

    Settings may follow, as `worker.concurrency=4`.
    """
    if (line := notice(click.get_current_context())) is not None:
        click.echo(line, err=True)
    app = application(invocation.merged(broker, None, False))
    name = default_nodename(hostname and expanded(hostname))
    life = WorkerLife(app, name, options)

    def imported() -> None:
        life.begin()
        configure_logging(app, life.hostname, loglevel, logfile, log_format)

    in_child = partial(
        prepare_child, hostname=life.hostname, level_name=loglevel, logfile=logfile, log_format=log_format
    )
    try:
        configure_by_command_line(app, settings)
        built = build_worker(app, WorkerOptions(hostname=name, **options), imported, in_child)
    except ImproperlyConfigured as error:
        raise click.UsageError(str(error)) from error
    life.set_up(built.config.processes is not None)
    terminal = sys.stdout
    with redirected_output(app):
        get_ready(app, built, purge, invocation.verbosity >= 0, terminal)
        try:
            with named_by(life.hostname), beside_beat(app):
                return run_worker(
                    built,
                    stop_timeout=stop_timeout,
                    soft_timeout=float(app.conf.worker_soft_shutdown_timeout or 0),
                    term_as_quit=os.environ.get("REMAP_SIGTERM") == "SIGQUIT",
                    watcher=life,
                )
        finally:
            app.close()


def configure_by_command_line(app: Celery, settings: tuple[str, ...]) -> None:
    """Set what `key=value` behind the options gives; raises UsageError where that is refused."""
    try:
        app.config_from_cmdline(settings, namespace="worker")
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def get_ready(app: Celery, built: Worker, purge: bool, shows_banner: bool, terminal: TextIO) -> None:
    """Fork what forks the children, before anything connects, look at the schema, and say what is worked."""
    leave_imports_to_stay()
    built.prepare()
    place = place_of_application(app)
    check_schema(built.driver, place)
    if purge:
        click.echo(f"deleted waiting tasks: {TaskConsumer(app).purge()}", file=terminal)
    say_notices(app)
    if shows_banner:
        click.echo(banner(app, built, place), file=terminal)


def leave_imports_to_stay() -> None:
    """Let the garbage collector pass by what there is after the imports, in this process and its children.

    It would look through all of that again and again for nothing: a tenth of the time of short tasks. Pages
    that nobody touches stay shared with the children, too.
    """
    gc.collect()
    gc.freeze()


def prepare_child(
    app: Celery, *, hostname: str, level_name: str, logfile: Path | None, log_format: str
) -> None:
    """Log in a child process that was not forked as the worker does."""
    configure_logging(app, hostname, level_name, logfile, log_format)
    redirect_output(app)


def redirect_output(app: Celery) -> None:
    """Log what is written to standard output and error, where the settings say so and logging is ours."""
    if app.conf.worker_redirect_stdouts and not signals.setup_logging.receivers:
        app.log.redirect_stdouts(app.conf.worker_redirect_stdouts_level)


@contextmanager
def redirected_output(app: Celery) -> Iterator[None]:
    """Do so while the block runs."""
    before = sys.stdout, sys.stderr
    redirect_output(app)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def configure_logging(
    app: Celery, hostname: str, level_name: str, logfile: Path | None, log_format: str
) -> None:
    """Log as the application's settings say, or as JSON."""
    level = level_number(level_name)
    shape: dict[str, Any] = {"formatter": WorkerJsonFormatter} if log_format == "json" else {}
    app.log.setup(level, logfile, hostname=hostname, **shape)


def expanded(hostname: str) -> str:
    """Fill in Celery's placeholders: %h the host's name, %n its first part, %d the domain."""
    host = socket.gethostname()
    first, _, domain = host.partition(".")
    return hostname.replace("%h", host).replace("%n", first).replace("%d", domain).replace("%%", "%")
