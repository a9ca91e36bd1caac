"""What an application does in its child processes beside running tasks."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from river_compat.celery import signals, worker_telling

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

_ABANDONED: list[Any] = []
"""Connections of the process before the fork: closing them here would end them there."""


class ChildProcess:
    """Called in the fork stage and in each child."""

    def __init__(self, app: Celery, hostname: str) -> None:
        """Take the application, and the name of its worker."""
        self._app = app
        self._hostname = hostname

    def forked(self) -> None:
        """Let go of what modules have opened while they were imported."""
        abandon_django_connections()

    def forking(self) -> None:
        """Tell who prepares the process that children are forked from."""
        signals.worker_before_create_process.send(sender=self._hostname)

    def started(self, number: int) -> None:
        """Make the application the current one of the child, and tell who prepares children."""
        worker_telling.leave_to_parent()
        self._app.set_current()
        self._app.loader.init_worker_process()
        signals.worker_process_init.send(sender=self._hostname)

    def stopping(self, number: int) -> None:
        """Tell who cleans up after children, and close what the child has opened."""
        signals.worker_process_shutdown.send(sender=self._hostname, pid=os.getpid(), exitcode=0)
        self._app.close()

    def told(self, told: tuple[str, dict[str, Any]]) -> None:
        """Set options of a task, as a control command has set them in the worker's process."""
        name, options = told
        task = self._app.tasks.get(name)
        for option, value in options.items():
            setattr(task, option, value)


def abandon_django_connections() -> None:
    """Forget Django's open connections without a word to the server, since the parent may go on with them."""
    database = sys.modules.get("django.db")
    connections = getattr(database, "connections", None)
    if connections is None or not connections.settings:
        return
    for wrapper in connections.all(initialized_only=True):
        if wrapper.connection is not None:
            _ABANDONED.append(wrapper.connection)
            wrapper.connection = None
