"""`shell` and `report`: Python with the application at hand, and what a bug report needs."""

from __future__ import annotations

import code
from importlib import import_module
from typing import Any

import click

from river_compat.cli.application import application, place_of_application
from river_compat.cli.exits import Exit
from river_compat.cli.invocation import Invocation, takes_invocation


@click.command()
@click.option("-I", "--ipython", "shell", flag_value="ipython", help="Use IPython.")
@click.option("-B", "--bpython", "shell", flag_value="bpython", help="Use bpython.")
@click.option(
    "-P", "--python", "shell", flag_value="python", default=True, help="Use Python's own [default]."
)
@click.option("-T", "--without-tasks", is_flag=True, help="Leave the tasks' names out.")
@takes_invocation
def shell(invocation: Invocation, shell: str | None, without_tasks: bool) -> int:
    """Start Python with `app`, `celery` and the tasks of the application as names."""
    app = application(invocation)
    app.set_default()
    app.import_default_modules()
    names: dict[str, Any] = {"app": app, "celery": app}
    if not without_tasks:
        names |= {name.rsplit(".", 1)[-1]: task for name, task in app.tasks.items()}
    try:
        _start(shell or "python", names)
    finally:
        app.close()
    return Exit.OK


def _start(shell: str, names: dict[str, Any]) -> None:
    if shell == "python":
        code.interact(banner="", exitmsg="", local=names)
        return
    try:
        if shell == "ipython":
            import_module("IPython").start_ipython(argv=[], user_ns=names)
        else:
            import_module("bpython").embed(locals_=names)
    except ImportError as error:
        raise click.UsageError(f"{shell} is not installed; leave the option out") from error


@click.command()
@takes_invocation
def report(invocation: Invocation) -> int:
    """Print what a bug report needs: versions, database and settings, without secrets."""
    app = application(invocation)
    try:
        click.echo(app.bugreport())
        click.echo(f"database: {place_of_application(app).text}")
    finally:
        app.close()
    return Exit.OK
