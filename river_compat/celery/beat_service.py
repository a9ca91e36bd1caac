"""A beat that runs: in a process of its own, or as a thread of a worker."""

from __future__ import annotations

import logging
import time
from functools import cached_property
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from river_compat.celery import signals
from river_compat.celery.beat_remote import BeatPidbox
from river_compat.celery.beat_schedulers import ENTRY_POINTS, scheduler_class
from river_compat.celery.beat_ticks import Ticks
from river_compat.celery.persistent_scheduler import PersistentScheduler
from river_compat.celery.utils.time import humanize_seconds
from river_core.database_clock import DatabaseClock
from river_core.errors import DatabaseError

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

LONGEST_SLEEP = 5.0
"""Entries that are added or edited while a beat runs are seen within so many seconds."""
RETRY_SECONDS = 5.0

logger = logging.getLogger("celery.beat")


class Service:
    """Asks a scheduler for its next turn again and again, until it is told to stop."""

    scheduler_cls: Any = PersistentScheduler

    def __init__(
        self,
        app: Celery,
        max_interval: float | None = None,
        schedule_filename: str | None = None,
        scheduler_cls: Any = None,
        remote_control: bool | None = None,
        hostname: str | None = None,
    ) -> None:
        """Take Celery's parameters. The scheduler is made when it is used first."""
        self.app = app
        self.max_interval = max_interval or app.conf.beat_max_loop_interval
        self.scheduler_cls = scheduler_cls or app.conf.beat_scheduler or self.scheduler_cls
        self.schedule_filename = schedule_filename or app.conf.beat_schedule_filename
        self.remote_control = (
            app.conf.beat_enable_remote_control if remote_control is None else remote_control
        )
        self.hostname = hostname
        self.effective_max_interval: float | None = None
        self._last_tick: float | None = None
        self._clock: DatabaseClock | None = None
        self._is_shutdown = Event()
        self._is_stopped = Event()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the parameters."""
        parameters = (self.app, self.max_interval, self.schedule_filename, self.scheduler_cls)
        return type(self), (*parameters, self.remote_control, self.hostname)

    def start(self, embedded_process: bool = False) -> None:
        """Run until `stop` is called. What a turn raises is logged, and the next one tried."""
        logger.info("beat: Starting...")
        self._follow_clock()  # new entries count from now
        self.effective_max_interval = self.scheduler.max_interval
        logger.debug("beat: Ticking with max interval->%s", humanize_seconds(self.scheduler.max_interval))
        signals.beat_init.send(sender=self)
        if embedded_process:
            signals.beat_embedded_init.send(sender=self)
        pidbox = BeatPidbox(self) if self.remote_control else None
        if pidbox is not None:
            pidbox.start()
        self._last_tick = time.monotonic()
        try:
            while not self._is_shutdown.is_set():
                self._sleep(self._turn())
        except (KeyboardInterrupt, SystemExit):
            self._is_shutdown.set()
        finally:
            self.sync()
            if pidbox is not None:
                pidbox.stop()

    def _turn(self) -> float:
        try:
            self._follow_clock()
            return float(self.scheduler.tick())
        except Exception:
            logger.exception("beat: a turn failed; the next one is in %s s", RETRY_SECONDS)
            return RETRY_SECONDS
        finally:
            self._last_tick = time.monotonic()

    def _follow_clock(self) -> None:
        """Go by the database's clock: several beats, on machines whose clocks differ, then tick together."""
        if self._clock is None:
            if self.app.conf.task_always_eager:
                return
            self._clock = DatabaseClock(self.app.runtime.driver)
        try:
            self._clock.follow()
        except DatabaseError as error:
            logger.warning("beat: the database cannot be asked for the time: %s", error)

    def _sleep(self, seconds: float) -> None:
        if not seconds or seconds <= 0:
            return
        logger.debug("beat: Waking up %s.", humanize_seconds(seconds, prefix="in "))
        self._is_shutdown.wait(min(seconds, LONGEST_SLEEP))
        if self.scheduler.should_sync():
            self.scheduler._do_sync()

    def sync(self) -> None:
        """Let the scheduler write what it keeps, and be done."""
        try:
            self.scheduler.close()
        finally:
            self._is_stopped.set()

    def stop(self, wait: bool = False) -> None:
        """Let the running turn be the last one; with `wait`, until it is."""
        logger.info("beat: Shutting down...")
        self._is_shutdown.set()
        if wait:
            self._is_stopped.wait()

    def get_scheduler(self, lazy: bool = False, extension_namespace: str = ENTRY_POINTS) -> Any:
        """Return a scheduler; raises as `beat_schedulers.scheduler_class`."""
        scheduler = scheduler_class(self.scheduler_cls, extension_namespace)(
            app=self.app,
            schedule_filename=self.schedule_filename,
            max_interval=self.max_interval,
            lazy=lazy,
        )
        if scheduler.ticks is None:
            scheduler.ticks = Ticks(self.app)
        return scheduler

    @cached_property
    def scheduler(self) -> Any:
        """The scheduler of this beat."""
        return self.get_scheduler()


class EmbeddedBeat(Thread):
    """A beat as a thread of a worker."""

    def __init__(self, app: Celery, **kwargs: Any) -> None:
        """Take the service's parameters."""
        super().__init__(name="Beat", daemon=True)
        self.app = app
        self.embedded = True
        self.service = Service(app, **kwargs)

    @classmethod
    def of(cls, service: Service) -> EmbeddedBeat:
        """Return a thread for a service that is a program of its own."""
        beat = cls(service.app)
        beat.embedded, beat.service = False, service
        return beat

    def run(self) -> None:
        """Run the service."""
        self.app.set_current()
        self.service.start(embedded_process=self.embedded)

    def stop(self) -> None:
        """Stop the service, and wait for its last turn."""
        self.service.stop(wait=True)


def EmbeddedService(app: Celery, max_interval: float | None = None, **kwargs: Any) -> EmbeddedBeat:  # noqa: N802
    """Return a beat that runs beside a worker. It is a thread, whatever `thread` says."""
    kwargs.pop("thread", None)
    kwargs.setdefault("remote_control", False)
    return EmbeddedBeat(app, max_interval=max_interval, **kwargs)
