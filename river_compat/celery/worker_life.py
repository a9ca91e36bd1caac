"""The signals of a worker's life, in Celery's order, and the object that stands for the worker in them."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from river_compat.celery import signals
from river_core import Watcher

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

EXIT_OK = 0
EXIT_FAILED = 1

logger = logging.getLogger("celery.apps.worker")


def default_hostname() -> str:
    """Return the name of a worker that was given none."""
    return f"celery@{socket.gethostname()}"


class WorkerLife(Watcher):
    """Tells of the life of one worker. It is the `instance` and the sender that receivers get.

    `children` is whether tasks run in child processes, which tell of themselves.
    """

    def __init__(
        self,
        app: Celery,
        hostname: str | None = None,
        options: Mapping[str, Any] | None = None,
        instance: Any = None,
    ) -> None:
        """Tell nothing yet; `instance` stands for the worker where that is another object."""
        self.app = app
        self.hostname = hostname or default_hostname()
        self.options = dict(options or {})
        self.pid = os.getpid()
        self.children = False
        self._instance = self if instance is None else instance

    @property
    def controller(self) -> Any:
        """The worker, as consumers of Celery's name it."""
        return self._instance

    def begin(self) -> None:
        """Tell that there will be a worker: task modules are imported, settings may still be changed."""
        self.app.loader.on_worker_init()
        facts = {"instance": self._instance, "conf": self.app.conf, "options": self.options}
        signals.celeryd_init.send(self.hostname, **facts)
        signals.worker_init.send(self._instance)

    def set_up(self, children: bool) -> None:
        """Tell that the worker is about to start, and prepare this process if tasks run in it."""
        self.children = children
        signals.celeryd_after_setup.send(self.hostname, instance=self._instance, conf=self.app.conf)
        if not children:
            self.app.loader.init_worker_process()
            signals.worker_process_init.send(self.hostname)

    def ready(self) -> None:
        """Tell that tasks are taken from now on."""
        signals.worker_ready.send(self._instance)
        logger.info("%s ready.", self.hostname)

    def stopping(self, number: signal.Signals, interrupts: bool) -> None:
        """Tell that a signal stops the worker."""
        how, code = ("Cold", EXIT_FAILED) if interrupts else ("Warm", EXIT_OK)
        signals.worker_shutting_down.send(self.hostname, sig=number.name, how=how, exitcode=code)

    def stopped(self) -> None:
        """Tell that the worker has ended."""
        self.app.loader.shutdown_worker()
        if not self.children:
            signals.worker_process_shutdown.send(self.hostname, pid=self.pid, exitcode=EXIT_OK)
        signals.worker_shutdown.send(self._instance)

    def __repr__(self) -> str:
        """Show the name."""
        return f"<Worker: {self.hostname}>"
