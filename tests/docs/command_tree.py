"""The `river-compat` command as a tree, and whether a command line fits into it.

Nothing is run: words are matched against commands, dashes against options.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click

from river_compat.cli.main import cli

PROGRAMS = {"river-compat", ".venv/bin/river-compat"}
_PLACEHOLDER = ("…", "...", "[", "<", "COMMAND", "|", ">")


def context() -> click.Context:
    """A context for asking groups about their commands."""
    return click.Context(cli)


def commands(
    group: click.Group = cli, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that lead to it, hidden ones included."""
    for name in group.list_commands(context()):
        command = group.get_command(context(), name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def invocations(line: str) -> Iterator[list[str]]:
    """The words after `river-compat` for each call of it in a shell line or an inline code span."""
    for part in line.replace("||", "&&").replace(";", "&&").split("&&"):
        words = shlex.split(part.split("#")[0])
        while words and ("=" in words[0] or words[0] == "exec"):
            words.pop(0)
        if words[:1] and words[0] in PROGRAMS:
            yield words[1:]
        elif words[1:3] == ["-m", "river_compat"]:
            yield words[3:]


def problem(words: list[str]) -> str | None:
    """Say what in a call does not exist, or None."""
    command: click.Command = cli
    options = _options(cli)
    rest = iter(words)
    for word in rest:
        if any(mark in word for mark in _PLACEHOLDER) or word == "&":
            return None
        if word.startswith("-"):
            name, has_value, _ = word.partition("=")
            if name not in options:
                return f"{command.name} has no option {name}"
            if options[name] and not has_value:
                next(rest, None)
        elif isinstance(command, click.Group):
            found = command.get_command(context(), word)
            if found is None:
                return f"there is no command {word!r}"
            command, options = found, _options(found)
    return None


def _options(command: click.Command) -> dict[str, bool]:
    """Each option's spelling, and whether it takes a value."""
    found = {"-h": False, "--help": False}
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            for spelling in (*parameter.opts, *parameter.secondary_opts):
                found[spelling] = not (parameter.is_flag or parameter.count)
    return found
