"""The beat as a program (`celery.apps.beat`); `app.Beat` is bound to its application."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, ClassVar

import click

from river_compat.celery.app.log import level_number
from river_compat.celery.beat_service import EmbeddedBeat
from river_compat.celery.beat_service import Service as BeatService
from river_compat.celery.platforms import set_process_title, strargv
from river_compat.celery.refused_names import lacking, refusing
from river_compat.celery.utils.imports import qualname
from river_compat.celery.utils.time import humanize_seconds

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

LOOK_SECONDS = 0.2
STOPPING = (signal.SIGTERM, signal.SIGINT)

__all__ = ["Beat"]


@lacking("TERM and INT end a beat, and runs are stored as they happen", "install_sync_handler")
class Beat:
    """Runs a beat in this process until it is told to stop."""

    Service: ClassVar[type[BeatService]] = BeatService
    app: Any = None

    def __init__(
        self,
        max_interval: float | None = None,
        app: Celery | None = None,
        socket_timeout: float | None = None,
        pidfile: str | None = None,
        no_color: bool | None = None,
        loglevel: str | int | None = "WARN",
        logfile: str | None = None,
        schedule: str | None = None,
        scheduler: Any = None,
        scheduler_cls: Any = None,
        redirect_stdouts: bool | None = None,
        redirect_stdouts_level: str | int | None = None,
        quiet: bool = False,
        remote_control: bool | None = None,
        hostname: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Take Celery's parameters; `loglevel` None leaves logging as it is. The sockets', file's and
        colours' parameters have no effect, nor have others."""
        del socket_timeout, pidfile, no_color, redirect_stdouts, redirect_stdouts_level, kwargs
        self.app = app or self.app
        self.loglevel = loglevel
        self.logfile = logfile
        self.max_interval = max_interval
        self.schedule = schedule
        self.scheduler_cls = scheduler or scheduler_cls
        self.quiet = quiet
        self.remote_control = remote_control
        self.hostname = hostname
        self._stopped = False

    def run(self) -> None:
        """Import the application's tasks and beat; returns after TERM, INT, or `stop`."""
        self.init_loader()
        if self.loglevel is not None:
            self.setup_logging()
        self.start_scheduler()

    def setup_logging(self, colorize: bool | None = None) -> None:
        """Log at the level, and into the file, that the beat was given."""
        self.app.log.setup(_level(self.loglevel or "WARN"), self.logfile, colorize=colorize)

    def set_process_title(self) -> None:
        """Let `ps` show a beat; see `platforms.set_process_title`."""
        set_process_title("celery beat", info=strargv(sys.argv))

    def init_loader(self) -> None:
        """Import what the application names."""
        self.app.set_current()
        self.app.set_default()
        self.app.import_default_modules()
        self.app.finalize()

    def service(self) -> BeatService:
        """Return the service that `run` runs, with its scheduler made.

        Raises UnsupportedFeature or ImproperlyConfigured for a scheduler that cannot be.
        """
        service = self.Service(
            self.app,
            max_interval=self.max_interval,
            scheduler_cls=self.scheduler_cls,
            schedule_filename=self.schedule,
            remote_control=self.remote_control,
            hostname=self.hostname,
        )
        service.scheduler  # noqa: B018 - what is wrong with it shows now
        return service

    def start_scheduler(self) -> None:
        """Run the service in a thread, and wait for the end of it."""
        service = self.service()
        if not self.quiet:
            click.echo(self.banner(service))
        beat = EmbeddedBeat.of(service)
        with self._signals():
            beat.start()
            while beat.is_alive() and not self._stopped:
                beat.join(LOOK_SECONDS)
            beat.stop()

    def stop(self) -> None:
        """Let `run` end after the running turn; may be called by a signal handler or another thread."""
        self._stopped = True

    def banner(self, service: BeatService) -> str:
        """Return what the program says at its start."""
        return f"river-compat beat for {self.app.main or '__main__'}\n{self.startup_info(service)}"

    def startup_info(self, service: BeatService) -> str:
        """Return what the scheduler has, a line each."""
        scheduler = service.scheduler
        interval = scheduler.max_interval
        lines = [f"    . entries -> {len(scheduler.schedule)}", f"    . scheduler -> {qualname(scheduler)}"]
        lines += [scheduler.info] if scheduler.info else []
        return "\n".join([*lines, f"    . maxinterval -> {humanize_seconds(interval)} ({interval:g}s)"])

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Stop on signals, where this is the thread that gets them."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(_number: int, _frame: FrameType | None) -> None:
            self.stop()

        before = {number: signal.signal(number, stop) for number in STOPPING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _level(given: str | int) -> int:
    return given if isinstance(given, int) else level_number("WARNING" if given.upper() == "WARN" else given)


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
