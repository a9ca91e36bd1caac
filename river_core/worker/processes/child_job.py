"""A job inside a child process: what is raised in it is raised by a signal, which also ends what blocks."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from river_core.task import Job
from river_core.worker.event_loop import EventLoop
from river_core.worker.running_job import Limits, RunningJob

RAISE_SIGNAL = signal.SIGUSR1


class ChildJob(RunningJob):
    """A job whose thread is the child's main thread, where Python runs signal handlers."""

    __slots__ = ("_at_limits", "_pending", "number", "wants_renewal")

    def __init__(self, job: Job, loop: EventLoop, number: int, at_limits: Callable[[ChildJob], Any]) -> None:
        """Hold the job that the worker sent as its `number`th; `at_limits` hears when its limits change."""
        super().__init__(job, loop)
        self.number = number
        self.wants_renewal = False
        self._at_limits = at_limits
        self._pending: type[BaseException] | None = None

    def limit_time(
        self,
        soft: float | None,
        hard: float | None,
        error: type[BaseException],
        told: Callable[[], object] | None = None,
    ) -> None:
        """Bound the attempt; the worker kills this process at the hard limit."""
        before = self.limits
        super().limit_time(soft, hard, error, told)
        if before is not None or self.limits is not None:
            self._at_limits(self)

    def renew_process(self) -> None:
        """End this process after the job."""
        self.wants_renewal = True

    def _set_deadline(self) -> None:
        super()._set_deadline()
        self._at_limits(self)

    def _raise(self, error: type[BaseException]) -> bool:
        self._pending = error
        signal.pthread_kill(threading.main_thread().ident or 0, RAISE_SIGNAL)
        return True

    def take_pending(self, otherwise: type[BaseException] | None) -> type[BaseException] | None:
        """Return what is to be raised now: what this process decided on, or `otherwise` for a signal from
        outside."""
        pending, self._pending = self._pending, None
        return pending or otherwise

    def next_time(self) -> float | None:
        """Return when to look again whether its time is over, by the monotonic clock."""
        limits: Limits | None = self.limits
        times = [self.deadline or (None if self.timeout is None else time.monotonic() + self.timeout)]
        if limits is not None and not limits.told:
            times.append(limits.soft)
        return min((time for time in times if time is not None), default=None)
