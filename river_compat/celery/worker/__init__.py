"""The worker as an object (`celery.worker`): what `app.Worker` makes and tests start in a thread."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from river_compat.celery._state import get_current_app
from river_compat.celery.command import WorkerOptions, build_worker, pool_name
from river_compat.celery.exceptions import UnsupportedFeature
from river_compat.celery.pool_classes import POOL_CLASSES
from river_compat.celery.pools import SOLO
from river_compat.celery.refused_names import lacking
from river_compat.celery.utils.imports import reload_from_cwd
from river_compat.celery.ways_out import COMMANDS, EMBEDDED, OVERRIDDEN, STATE
from river_compat.celery.worker_life import WorkerLife

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_core import Worker

__all__ = ["WorkController"]

LOOK_SECONDS = 0.1
WITHOUT_EFFECT = frozenset(
    {
        "beat",
        "detach",
        "heartbeat_interval",
        "optimization",
        "pidfile",
        "prefetch_multiplier",
        "redirect_stdouts",
        "redirect_stdouts_level",
        "state_db",
        "statedb",
        "task_events",
        "use_eventloop",
        "without_gossip",
        "without_heartbeat",
        "without_mingle",
    }
)


@lacking(COMMANDS, "info rusage stats")
@lacking(STATE, "state")
@lacking(OVERRIDDEN, "on_init_blueprint setup_defaults setup_includes setup_instance setup_queues")
@lacking(
    EMBEDDED,
    "Blueprint blueprint pidlock pool prepare_args register_with_event_loop semaphore should_use_eventloop "
    "signal_consumer_close wait_for_soft_shutdown",
)
class WorkController:
    """One worker of an application. `start` runs it in the calling thread until another one calls `stop`."""

    app: Celery
    exitcode: int | None = None
    """What `stop` was given."""

    def __init__(
        self,
        app: Celery | None = None,
        hostname: str | None = None,
        *,
        concurrency: int | None = None,
        pool: str | None = None,
        pool_cls: str | None = None,
        queues: Iterable[str] | str | None = None,
        exclude_queues: Iterable[str] | str | None = None,
        include: Iterable[str] | str | None = None,
        loglevel: int | str | None = None,
        logfile: str | None = None,
        ready_callback: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        """Import the application's task modules; nothing connects yet.

        Raises TypeError for an option that no worker has, UnsupportedFeature for a pool that is not here.
        """
        unknown = sorted(set(options) - WITHOUT_EFFECT)
        if unknown:
            raise TypeError(f"a worker has no option {unknown[0]!r}")
        self.app = app or self._own_app()
        self.on_before_init(**options)
        self.hostname = hostname or f"celery@{socket.gethostname()}"
        self.loglevel, self.logfile = loglevel, logfile
        self.ready_callback = ready_callback
        chosen = WorkerOptions(
            queues=_names(queues),
            exclude_queues=_names(exclude_queues),
            concurrency=concurrency,
            pool=pool or pool_cls,
            hostname=hostname,
            include=_names(include),
        )
        self._pool = pool_name(self.app, chosen)
        self.pool_cls = POOL_CLASSES[self._pool]
        self.life = WorkerLife(self.app, self.hostname, options, self)
        from river_compat.celery.worker.remote import RemoteControl  # it is part of this package

        self.river: Worker = build_worker(self.app, chosen, self.life.begin)
        self._stop = threading.Event()
        for companion in self.river.config.companions:
            if isinstance(companion, RemoteControl):
                companion.shut_down = self.stop
        self.on_after_init(**options)

    def _own_app(self) -> Celery:
        return getattr(self, "app", None) or get_current_app()

    def start(self) -> None:
        """Work until `stop`, then wait for what runs. Raises OperationalError where nothing can start."""
        self.on_start()
        self.life.set_up(self.river.config.processes is not None)
        self.river.start()
        try:
            self.life.ready()
            self.on_consumer_ready(self)
            if self.ready_callback is not None:
                self.ready_callback(self)
            while not self._stop.is_set():
                if self._pool == SOLO:
                    self.river.run_jobs(LOOK_SECONDS)
                else:
                    self._stop.wait()
        finally:
            self.on_close()
            self.river.stop(None)
            self.life.stopped()
            self.on_stopped()

    def on_before_init(self, **kwargs: Any) -> None:
        """Called with the remaining options before the worker is made; may be overridden."""

    def on_after_init(self, **kwargs: Any) -> None:
        """Called with the remaining options when the worker is made; may be overridden."""

    def on_start(self) -> None:
        """Called before the worker starts; may be overridden."""

    def on_close(self) -> None:
        """Called when no more tasks are taken, before the running ones have ended; may be overridden."""

    def on_stopped(self) -> None:
        """Called when all is over; may be overridden."""

    def on_consumer_ready(self, consumer: Any) -> None:
        """Called when the worker takes tasks; may be overridden."""

    def stop(self, in_sighandler: bool = False, exitcode: int | None = None) -> None:
        """Ask `start` to return once the running tasks have ended; callable from any thread."""
        if exitcode is not None:
            self.exitcode = exitcode
        self._stop.set()
        self.river.request_stop()

    def terminate(self, in_sighandler: bool = False) -> None:
        """Ask the same, and interrupt the running tasks: they run again elsewhere."""
        self.stop()
        self.river.stop_and_cancel()

    def reload(
        self,
        modules: Iterable[str] | None = None,
        reload: bool = False,
        reloader: Callable[[Any], Any] | None = None,
    ) -> None:
        """Import modules, by default those with tasks, and with `reload` those anew that are imported.

        Their tasks, and all that were defined since the start, are worked from then on. Raises
        UnsupportedFeature in prefork, where children have forked: they learn nothing new.
        """
        if self.river.config.processes is not None:
            raise UnsupportedFeature("worker.reload() cannot reach child processes: restart the worker")
        for name in dict.fromkeys(self.app.loader.task_modules if modules is None else modules):
            if name not in sys.modules:
                self.app.loader.import_from_cwd(name)
            elif reload:
                reload_from_cwd(sys.modules[name], reloader)
        self.app.finalize()

    def __repr__(self) -> str:
        """Show the name."""
        return f"<{type(self).__name__}: {self.hostname}>"


def _names(given: Iterable[str] | str | None) -> tuple[str, ...]:
    if given is None:
        return ()
    return tuple(given.split(",")) if isinstance(given, str) else tuple(given)
