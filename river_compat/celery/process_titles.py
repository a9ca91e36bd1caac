"""What `ps` shows of a process, where the package `setproctitle` is installed (`celery.platforms`)."""

from __future__ import annotations

import os
from multiprocessing import current_process

from river_compat.celery.local import try_import


def set_process_title(progname: str, info: str | None = None) -> str:
    """Show `[progname] info`, and return it."""
    title = f"[{progname}] {info}" if info else f"[{progname}]"
    setproctitle = try_import("setproctitle")
    if setproctitle is not None:
        setproctitle.setproctitle(title)
    return title


def set_mp_process_title(progname: str, info: str | None = None, hostname: str | None = None) -> str | None:
    """Show the name of this process of `multiprocessing` too; nothing with NOSETPS in the environment."""
    if os.environ.get("NOSETPS"):
        return None
    shown = f"{progname}: {hostname}" if hostname else progname
    return set_process_title(f"{shown}:{current_process().name}", info)
