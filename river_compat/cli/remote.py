"""`inspect`, `control` and `status`: asks workers, or tells them what to do, from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import click

from river_compat.cli.application import application
from river_compat.cli.exits import Exit
from river_compat.cli.invocation import Invocation

Command = Callable[..., Any]

TIMEOUT_SECONDS = 1.0


def _destinations(_context: click.Context, _option: click.Parameter, value: str | None) -> list[str] | None:
    return [name.strip() for name in value.split(",") if name.strip()] if value else None


def remote_options(command: Command) -> Command:
    """Add `-t`, `-d` and `-j` as `celery` spells them; the application names the database."""
    add_json = click.option("-j", "--json", "as_json", is_flag=True, help="Print JSON.")
    add_destination = click.option(
        "-d", "--destination", metavar="NAMES", callback=_destinations, help="Ask these workers only."
    )
    add_timeout = click.option(
        "-t",
        "--timeout",
        type=float,
        default=TIMEOUT_SECONDS,
        metavar="SECONDS",
        help="How long to wait for replies [default: 1].",
    )
    return add_timeout(add_destination(add_json(click.pass_obj(command))))


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", required=False)
@click.argument("arguments", nargs=-1)
@remote_options
def inspect(
    invocation: Invocation,
    command: str | None,
    arguments: Sequence[str],
    timeout: float,
    destination: list[str] | None,
    as_json: bool,
) -> int:
    """Ask workers: ping, active, reserved, scheduled, stats, registered, and so on.

    The exit status is 69 when nobody answers.
    """
    return _ask(invocation, "inspect", command, arguments, timeout, destination, as_json)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", required=False)
@click.argument("arguments", nargs=-1)
@remote_options
def control(
    invocation: Invocation,
    command: str | None,
    arguments: Sequence[str],
    timeout: float,
    destination: list[str] | None,
    as_json: bool,
) -> int:
    """Tell workers what to do: shutdown, rate_limit, add_consumer, pool_grow, revoke, and so on.

    The exit status is 69 when nobody answers.
    """
    return _ask(invocation, "control", command, arguments, timeout, destination, as_json)


@click.command()
@remote_options
def status(invocation: Invocation, timeout: float, destination: list[str] | None, as_json: bool) -> int:
    """List the workers that answer. The exit status is 69 when none does."""
    app = application(invocation)
    try:
        replies = app.control.inspect(timeout=timeout, destination=destination).ping()
    finally:
        app.close()
    if not replies:
        return _nobody(as_json)
    if as_json:
        click.echo(json.dumps(replies))
    else:
        for name in sorted(replies):
            click.echo(f"->  {name}: OK")
        click.echo(f"\n{len(replies)} node{'s' if len(replies) > 1 else ''} online.")
    return Exit.OK


def _ask(
    invocation: Invocation,
    kind: str,
    name: str | None,
    arguments: Sequence[str],
    timeout: float,
    destination: list[str] | None,
    as_json: bool,
) -> int:
    app = application(invocation)
    try:
        app.import_default_modules()  # commands of the application's own are registered by its modules
        if name is None:
            raise click.UsageError(f"which command? There is {', '.join(_names(kind))}")
        given = _arguments(kind, name, arguments)
        replies: list[dict[str, Any]] = app.control.broadcast(
            name, given, reply=True, timeout=timeout, destination=destination
        )
    finally:
        app.close()
    if not replies:
        return _nobody(as_json)
    if as_json:
        click.echo(json.dumps({node: answer for reply in replies for node, answer in reply.items()}))
        return Exit.OK
    return _show(replies)


def _names(kind: str) -> list[str]:
    from river_compat.celery.worker.control import Panel

    return sorted(name for name, info in Panel.meta.items() if info.type == kind and info.visible)


def _arguments(kind: str, name: str, given: Sequence[str]) -> dict[str, Any]:
    """Read the arguments of a command as it says; raises click's UsageError."""
    from river_compat.celery.worker.control import Panel

    info = Panel.meta.get(name)
    if info is None or info.type != kind:
        raise click.UsageError(f"{kind} has no command {name!r}; there is {', '.join(_names(kind))}")
    declared = list(info.args or ())
    if len(given) > len(declared) and info.variadic is None:
        raise click.UsageError(f"{name} takes {info.signature or 'no arguments'}")
    try:
        found = {key: read(text) for (key, read), text in zip(declared, given, strict=False)}
    except ValueError as error:
        raise click.UsageError(f"{name} takes {info.signature}: {error}") from error
    rest = list(given[len(declared) :])
    if info.variadic is not None and rest:
        found[info.variadic] = (
            dict(item.split("=", 1) for item in rest) if info.variadic == "headers" else rest
        )
    return found


def _nobody(as_json: bool) -> int:
    if as_json:
        click.echo("{}")
    click.echo("Error: No nodes replied within time constraint", err=True)
    return Exit.UNAVAILABLE


def _show(replies: Sequence[dict[str, Any]]) -> int:
    for node, answer in sorted(
        (item for reply in replies for item in reply.items()), key=lambda item: item[0]
    ):
        failed = isinstance(answer, dict) and set(answer) == {"error"}
        click.echo(f"->  {node}: {'ERROR' if failed else 'OK'}")
        for line in _lines(answer):
            click.echo(f"        {line}")
    count = len(replies)
    click.echo(f"\n{count} node{'s' if count > 1 else ''} online.")
    return Exit.OK


def _lines(answer: Any) -> list[str]:
    if isinstance(answer, dict) and len(answer) == 1 and set(answer) <= {"ok", "error"}:
        return str(next(iter(answer.values()))).splitlines()
    if isinstance(answer, list):
        return [f"* {item if isinstance(item, str) else json.dumps(item)}" for item in answer] or [
            "- empty -"
        ]
    return json.dumps(answer, indent=2, sort_keys=True).splitlines()
