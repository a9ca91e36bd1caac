"""Who a worker's process is: the file that names it, its user and its group."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from river_compat.celery.privileges import maybe_drop_privileges
from river_compat.celery.utils.nodenames import node_format
from river_compat.cli.pidfile import pidfile

Command = Callable[..., Any]
NamedBy = Callable[[str], AbstractContextManager[None]]


def process_options(command: Command) -> Command:
    """Add `--pidfile`, `--uid` and `--gid`; the command gets `named_by`, which writes the file for a block.

    User and group change before anything else is done, so files and children are theirs.
    """

    @wraps(command)
    def run(*args: Any, pid_path: str | None, uid: str | None, gid: str | None, **options: Any) -> Any:
        _become(uid, gid)

        def named_by(hostname: str) -> AbstractContextManager[None]:
            return pidfile(None if pid_path is None else Path(node_format(pid_path, hostname)))

        return command(*args, named_by=named_by, **options)

    for name, text in (("uid", "Run as this user."), ("gid", "Run as this group.")):
        run = click.option(f"--{name}", metavar="NAME", help=text)(run)
    return click.option(
        "--pidfile",
        "pid_path",
        metavar="FILE",
        help="A file for the number of this process; %n and %h are filled in.",
    )(run)


def _become(uid: str | None, gid: str | None) -> None:
    try:
        maybe_drop_privileges(uid, gid)
    except (KeyError, PermissionError) as error:
        reason = error.args[0] if isinstance(error, KeyError) else f"only root may change them: {error}"
        raise click.UsageError(f"--uid {uid}, --gid {gid}: {reason}") from error
