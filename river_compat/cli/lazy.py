"""A click group that knows its commands by name and imports one only when it is called.

The summaries stand in the table, so `--help` imports no command, hence no database driver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """Where a command lives (`module:attribute`), and its one line in the list of commands."""

    target: str
    summary: str
    hidden: bool = False


class LazyGroup(click.Group):
    """A group whose commands are listed in order of the table and imported on use."""

    def __init__(
        self, *args: Any, table: Mapping[str, LazyCommand], missing: Mapping[str, str], **kwargs: Any
    ) -> None:
        """Take the table of commands beside click's own arguments.

        `missing` says of commands that people look for what to do instead.
        """
        super().__init__(*args, **kwargs)
        self._table = table
        self._missing = missing

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return every name, hidden ones too."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None for a name that is not in the table."""
        entry = self._table.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - the table is ours
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; raises UsageError that says what there is, or what to do instead."""
        name = args[0]
        if name not in self._table and not name.startswith("-") and not ctx.resilient_parsing:
            there_is = ", ".join(known for known, entry in self._table.items() if not entry.hidden)
            hint = self._missing.get(name, f"there is {there_is}")
            raise click.UsageError(f"No such command {name!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table alone."""
        rows = [(name, entry.summary) for name, entry in self._table.items() if not entry.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
