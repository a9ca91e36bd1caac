"""`river-compat version`: what is installed and which databases it would use."""

from __future__ import annotations

import json
import platform
import sqlite3
from importlib.metadata import version

import click

from river_compat.cli.invocation import Invocation, takes_invocation


def versions() -> dict[str, str]:
    """Return the version of each part by its name."""
    return {
        "river-compat": version("river-compat"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        **{name: version(name) for name in ("psycopg", "kombu", "click")},
    }


@click.command("version")
@takes_invocation
def show_version(invocation: Invocation) -> None:
    """Print the versions of this package, Python, SQLite and the libraries it works with."""
    found = versions()
    if invocation.as_json:
        click.echo(json.dumps(found))
        return
    for name, number in found.items():
        click.echo(f"{name} {number}")
