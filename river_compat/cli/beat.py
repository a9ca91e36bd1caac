"""`river-compat beat`: sends the periodic tasks of a Celery application, as this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from river_compat.celery.apps.beat import Beat
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.cli.application import application, place_of_application
from river_compat.cli.boot import check_schema
from river_compat.cli.invocation import Invocation, takes_invocation
from river_compat.cli.log_options import log_options
from river_compat.cli.pidfile import pidfile
from river_compat.cli.scheduler_options import scheduler_options

DETACH = "beat does not daemonize; run it in the foreground under systemd, supervisord or a container"


def _refuse_detach(context: click.Context, _option: click.Parameter, value: object) -> None:
    if value:
        raise click.UsageError(f"--detach is not supported: {DETACH}", context)


@click.command()
@scheduler_options("-S")
@click.option("--max-interval", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS")
@log_options
@click.option("--pidfile", "pid_path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("-n", "--hostname", metavar="NAME", help="Name to answer `inspect ping` by.")
@click.option("--enable-remote-control/--no-enable-remote-control", "remote_control", default=None)
@click.option("-b", "--broker", metavar="URL", help="The same as -d.")
@click.option("--detach", "-D", is_flag=True, hidden=True, expose_value=False, callback=_refuse_detach)
@takes_invocation
def beat(
    invocation: Invocation,
    configure_logging: Callable[[Any], None],
    pid_path: Path | None,
    broker: str | None,
    **options: Any,
) -> None:
    """Send the periodic tasks of a Celery application until told to stop. Any number may run."""
    app = application(invocation.merged(broker, None, False))
    configure_logging(app)
    program = Beat(app=app, loglevel=None, quiet=invocation.verbosity < 0, **options)
    try:
        with pidfile(pid_path):
            program.init_loader()
            check_schema(app.runtime.driver, place_of_application(app))
            program.start_scheduler()
    except ImproperlyConfigured as error:
        raise click.UsageError(str(error)) from error
    finally:
        app.close()
