"""The worker as a process: signals, the two-step stop and the exit code (River for Rails: WorkerRunner).

TERM, INT and HUP drain, a second one, or QUIT, interrupts what runs, TSTP only stops claiming. Interrupted
jobs have five seconds to end; then their rows are given back and the process is forced out. USR1 writes the
stacks of all threads to standard error.

    exit code 0   drained by itself
    exit code 1   could not start, a part died, had to interrupt, or was forced
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from river_core.worker.worker import FINALIZE_SECONDS, Worker

EXIT_OK = 0
EXIT_FAILED = 1
COLD = 2
"""So many stops, or one that counts for as many, interrupt what runs."""
LOOK_SECONDS = 0.2
DRAIN_LOOK_SECONDS = 0.05

logger = logging.getLogger(__name__)


class _Signals:
    """What the signal handlers have seen. Handlers only count; the main loop acts."""

    def __init__(self) -> None:
        self.stops = 0
        self.last = signal.SIGTERM
        self.quiet = False
        self.arrived = threading.Event()

    def stop(self, number: int, frame: FrameType | None) -> None:
        self.stops += 1
        self.last = signal.Signals(number)
        self.arrived.set()

    def stop_now(self, number: int, frame: FrameType | None) -> None:
        self.stops += COLD
        self.last = signal.Signals(number)
        self.arrived.set()

    def quieten(self, number: int, frame: FrameType | None) -> None:
        self.quiet = True
        self.arrived.set()

    def wait(self, seconds: float) -> None:
        self.arrived.wait(seconds)
        self.arrived.clear()

    @contextmanager
    def installed(self, term_as_quit: bool) -> Iterator[None]:
        term = self.stop_now if term_as_quit else self.stop
        handlers: dict[int, Any] = {signal.SIGTERM: term, signal.SIGINT: self.stop}
        others = {"SIGTSTP": self.quieten, "SIGHUP": self.stop, "SIGQUIT": self.stop_now}
        handlers.update({getattr(signal, name): do for name, do in others.items() if hasattr(signal, name)})
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        faulthandler.register(signal.SIGUSR1, file=sys.__stderr__ or sys.stderr, all_threads=True)
        try:
            yield
        finally:
            faulthandler.unregister(signal.SIGUSR1)
            for number, handler in before.items():
                signal.signal(number, handler)


class Watcher:
    """Hears how a worker's process gets on. Override what is needed; what it raises is logged."""

    def ready(self) -> None:
        """Hear that the worker takes jobs from now on."""

    def stopping(self, number: signal.Signals, interrupts: bool) -> None:
        """Hear that a signal stops the worker, and whether jobs that run are interrupted."""

    def stopped(self) -> None:
        """Hear that nothing runs any more, or that what does is given up."""


def run_worker(
    worker: Worker,
    *,
    stop_timeout: float | None = 30.0,
    soft_timeout: float = 0.0,
    term_as_quit: bool = False,
    watcher: Watcher | None = None,
) -> int:
    """Run a worker that was not started, in the main thread, until a signal; return the exit code.

    `stop_timeout` is how many seconds running jobs may take to finish after the first signal, None for
    no limit. Those that are to be interrupted, by QUIT or a second signal, have `soft_timeout` more before
    that, unless another signal comes. `term_as_quit` lets TERM mean QUIT. `watcher` hears how it gets on.

    A job that cannot be interrupted makes the process exit here, with code 1, after its row was given back.
    Raises what `Worker.start` raises.
    """
    signals = _Signals()
    supervisor = _Supervisor(worker, signals, stop_timeout, soft_timeout, watcher or Watcher())
    worker.prepare()
    with signals.installed(term_as_quit):
        worker.start()
        supervisor.tell_ready()
        if not worker.config.main_thread:
            return supervisor.supervise()
        thread = threading.Thread(target=supervisor.supervise, name="river-supervisor", daemon=True)
        thread.start()
        while thread.is_alive():
            worker.run_jobs(LOOK_SECONDS)
        return supervisor.exit_code


class _Supervisor:
    """Watches a started worker and takes it through the steps of its stop."""

    def __init__(
        self,
        worker: Worker,
        signals: _Signals,
        stop_timeout: float | None,
        soft_timeout: float,
        watcher: Watcher,
    ) -> None:
        self._worker = worker
        self._signals = signals
        self._stop_timeout = stop_timeout
        self._soft_timeout = soft_timeout
        self._watcher = watcher
        self._told_cold = False
        self.exit_code = EXIT_FAILED

    def supervise(self) -> int:
        healthy = self._until_stopped()
        drained = self._drain()
        self.exit_code = self._end(healthy and drained)
        _tell(self._watcher.stopped)
        return self.exit_code

    def tell_ready(self) -> None:
        _tell(self._watcher.ready)

    def _tell_stopping(self) -> None:
        """Pass on the signal that has arrived, once for the first and once for the one that interrupts."""
        cold = self._signals.stops >= COLD
        if self._signals.stops and not self._told_cold:
            self._told_cold = cold
            _tell(lambda: self._watcher.stopping(self._signals.last, cold))

    def _until_stopped(self) -> bool:
        quiet = False
        while not self._signals.stops:
            if self._signals.quiet and not quiet:
                quiet = True
                self._worker.request_stop()
                logger.info("claiming no more jobs; waiting for TERM")
            if dead := self._worker.dead_parts(quiet):
                logger.critical("%s ended by itself; the worker stops", ", ".join(dead))
                return False
            self._signals.wait(LOOK_SECONDS)
        return True

    def _drain(self) -> bool:
        """Let running jobs finish until the time is over or another signal comes; return whether they did."""
        worker, timeout = self._worker, self._stop_timeout
        worker.request_stop()
        logger.info("stopping: jobs that may finish: %d; a second signal interrupts them", worker.active)
        self._tell_stopping()
        until = None if timeout is None else time.monotonic() + timeout
        while self._signals.stops < COLD and (until is None or time.monotonic() < until):
            if worker.wait_drained(DRAIN_LOOK_SECONDS):
                return True
        return self._drain_softly()

    def _drain_softly(self) -> bool:
        """Let jobs that are to be interrupted finish for a last while, if that was asked for."""
        worker, until = self._worker, time.monotonic() + self._soft_timeout
        if self._signals.stops >= COLD:
            self._tell_stopping()
        if self._signals.stops >= COLD and self._soft_timeout and worker.active:
            logger.info("jobs are interrupted in %g s, or by another signal", self._soft_timeout)
            while self._signals.stops <= COLD and time.monotonic() < until:
                if worker.wait_drained(DRAIN_LOOK_SECONDS):
                    return True
        return worker.wait_drained(0)

    def _end(self, clean: bool) -> int:
        worker = self._worker
        if clean:
            return EXIT_OK if worker.stop() else EXIT_FAILED
        if worker.active:
            logger.warning("jobs that are interrupted now: %d", worker.active)
        worker.stop_and_cancel(FINALIZE_SECONDS)
        if worker.active:
            _tell(self._watcher.stopped)
            _force_out(worker.active)
        return EXIT_FAILED


def _tell(what: Callable[[], object]) -> None:
    try:
        what()
    except Exception:
        logger.exception("a watcher of the worker's process raised")


def _force_out(stuck: int) -> None:
    logger.error(
        "jobs that could not be interrupted: %d; their rows were given back; forcing the exit", stuck
    )
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(EXIT_FAILED)
