"""The signals of a child process: what ends its job, and what is not for it at all."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType

from river_core.worker.processes.board import Place
from river_core.worker.processes.child_job import RAISE_SIGNAL, ChildJob
from river_core.worker.running_job import RunningJob

UNHEARD = ("SIGHUP", "SIGQUIT", "SIGTSTP")
"""Handled by doing nothing instead of ignored: the programs that a task starts would inherit that."""


class ChildSignals:
    """Raises in the job that runs what a signal brings. All of it happens in the main thread."""

    def __init__(
        self, place: Place, running: Callable[[], ChildJob | None], soft_error: type[BaseException] | None
    ) -> None:
        """`soft_error` is what a signal from outside raises."""
        self._place = place
        self._running = running
        self._soft_error = soft_error
        self._held = False
        self._deferred = False

    def install(self) -> None:
        """Set the handlers of this process."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for name in UNHEARD:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _do_nothing)
        signal.signal(signal.SIGUSR2, signal.SIG_DFL)
        signal.signal(RAISE_SIGNAL, self._raise_in_task)
        signal.signal(signal.SIGTERM, self._terminate)

    def hold(self) -> None:
        """Raise nothing until `release`."""
        self._held = True

    def release(self) -> None:
        """Raise again what comes."""
        self._held = False

    def raise_deferred(self) -> None:
        """Raise what came while all was held."""
        if self._deferred:
            self._deferred = False
            signal.raise_signal(RAISE_SIGNAL)

    def _raise_in_task(self, number: int, frame: FrameType | None) -> None:
        running = self._running()
        if running is None:
            return
        if self._held:
            self._deferred = True
            return
        error = running.take_pending(self._soft_error)
        if error is not None and _is_inside_task(frame):
            raise error()

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        """End by SIGTERM where the worker means the job that runs; a supervisor may send it to everybody."""
        running = self._running()
        if running is not None and self._place.terminated == running.number:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)


def _is_inside_task(frame: FrameType | None) -> bool:
    """Tell whether the task's own code runs in `frame`: only there an exception is the task's to catch."""
    inner = None
    while frame is not None:
        if frame.f_code is RunningJob.call.__code__:
            return inner is not None
        inner, frame = frame, frame.f_back
    return False


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    return None
