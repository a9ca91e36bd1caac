"""`river-compat demo`: runs the demonstration and says where to look next."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from rich.console import Console

from river_compat.demo.run import run_demo
from river_compat.demo.screen import Screen

PLAIN_WIDTH = 110
_ROOT = Path(__file__).parents[2]
_DOCUMENTS = {
    "the first steps by hand": "docs/quickstart.md",
    "coming from Celery": "migration_guides/from-celery.md",
    "how it works inside": "docs/explanation/architecture.md",
}


@click.command("demo")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=".river-demo",
    show_default=True,
    help="Where to put the application, its database and the worker's log.",
)
def demo(directory: Path) -> None:
    """Run a small application on a SQLite file and show it."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=PLAIN_WIDTH)
    screen = Screen(console)
    run_demo(directory, screen)
    screen.next_steps(_next_steps(directory))


def _next_steps(directory: Path) -> list[tuple[str, str]]:
    program = _program()
    steps = [
        ("the application", f"{directory}/shop.py"),
        ("what the worker said", f"{directory}/worker.log"),
        ("the rows (SQLite 3.45)", f"sqlite3 -box {directory}/river.sqlite3 < {directory}/rows.sql"),
        ("work on it yourself", f"{program} --workdir {directory} -A shop worker -l INFO"),
        ("every command", f"{program} --help"),
    ]
    present = [(what, _ROOT / path) for what, path in _DOCUMENTS.items() if (_ROOT / path).exists()]
    return steps + [(what, os.path.relpath(path)) for what, path in present]


def _program() -> str:
    """Return how the reader started this command, so that the lines above can be copied."""
    started = Path(sys.argv[0]).absolute()
    if started.name != "river-compat":
        return "python -m river_compat"
    return os.path.relpath(started) if started.is_relative_to(Path.cwd()) else started.name
