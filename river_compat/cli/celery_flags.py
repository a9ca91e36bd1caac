"""Options of `celery worker` that mean nothing here or are not supported, as click decorators.

Start scripts pass them, so the meaningless ones are accepted with one notice. What would change
behaviour is refused by name with the way out, never ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]
_NOTED = "river_compat.cli.celery_flags.noted"

MEANINGLESS_FLAGS: tuple[tuple[str, ...], ...] = (
    ("-E", "--task-events"),
    ("--disable-prefetch",),
    ("--without-gossip",),
    ("--without-mingle",),
    ("--without-heartbeat",),
)
MEANINGLESS_OPTIONS: tuple[tuple[str, ...], ...] = (
    ("-O", "--optimization"),
    ("--prefetch-multiplier",),
    ("--heartbeat-interval",),
    ("-S", "--statedb"),
)

_SUPERVISOR = "run it in the foreground under systemd, supervisord or a container"
REFUSED_FLAGS: dict[tuple[str, ...], str] = {
    ("-D", "--detach"): f"the worker does not daemonize; {_SUPERVISOR}",
}
_FOREGROUND = f"it belongs to daemonizing; {_SUPERVISOR}"
REFUSED_OPTIONS: dict[tuple[str, ...], str] = {
    ("--umask",): _FOREGROUND,
    ("--executable",): _FOREGROUND,
}


def accept_celery_flags(command: Command) -> Command:
    """Add the options above to a command; its function receives none of them."""
    for names in MEANINGLESS_FLAGS:
        command = click.option(*names, is_flag=True, hidden=True, expose_value=False, callback=_note)(command)
    for names in MEANINGLESS_OPTIONS:
        command = click.option(*names, hidden=True, expose_value=False, callback=_note)(command)
    for names, reason in REFUSED_FLAGS.items():
        refuse = _refusal(reason)
        command = click.option(*names, is_flag=True, hidden=True, expose_value=False, callback=refuse)(
            command
        )
    for names, reason in REFUSED_OPTIONS.items():
        command = click.option(*names, hidden=True, expose_value=False, callback=_refusal(reason))(command)
    return command


def notice(context: click.Context) -> str | None:
    """Return the one line about the options that were accepted without effect, or None."""
    noted = context.meta.get(_NOTED)
    if not noted:
        return None
    return f"accepted without effect: {', '.join(noted)} (rows are claimed only when a slot is free)"


def _note(context: click.Context, option: click.Parameter, value: object) -> None:
    if value:
        context.meta.setdefault(_NOTED, []).append(max(option.opts, key=len))


def _refusal(reason: str) -> Callable[[click.Context, click.Parameter, object], None]:
    def refuse(context: click.Context, option: click.Parameter, value: object) -> None:
        if value:
            raise click.UsageError(f"{'/'.join(option.opts)} is not supported: {reason}", context)

    return refuse
