"""Options about the scheduler, for the beat and for a worker with a beat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]
NO_FILE = "accepted without effect: --schedule (last runs are rows of the database)"


def scheduler_options(*short: str) -> Callable[[Command], Command]:
    """Return the options that name a scheduler and Celery's schedule file, which has no effect."""

    def add(command: Command) -> Command:
        names = ("-s", "--schedule", "--schedule-filename")
        file = click.option(*names, expose_value=False, hidden=True, callback=_note_file)
        text = "Class of the scheduler, module:Class, or django [default: beat_scheduler]."
        return click.option(*short, "--scheduler", metavar="CLASS", help=text)(file(command))

    return add


def _note_file(_context: click.Context, _option: click.Parameter, value: str | None) -> None:
    if value:
        click.echo(NO_FILE, err=True)
