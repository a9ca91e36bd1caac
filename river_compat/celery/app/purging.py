"""What `app.amqp.TaskConsumer` is asked for: to empty the application's queues."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kombu.exceptions import OperationalError

from river_compat.celery.message import FRAMEWORK
from river_core import errors
from river_core.cancelling import purge_tasks


class TaskConsumer:
    """The waiting tasks of an application's queues, or of those that are named."""

    def __init__(self, app: Any, queues: Collection[str] | None = None) -> None:
        """Take the queues of the settings where none are named."""
        self._app = app
        self.queues = list(app.queue_names() if queues is None else queues)

    def purge(self) -> int:
        """Delete the waiting tasks and return how many there were; raises kombu's OperationalError.

        Running ones go on. Steps that waited for deleted ones fail within half a minute, if a worker is up.
        """
        try:
            return purge_tasks(self._app.runtime.driver, FRAMEWORK, self.queues)
        except errors.OperationalError as error:
            raise OperationalError(str(error)) from error
