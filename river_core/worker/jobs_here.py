"""The jobs that slots hold, waiting or running, and what others ask about them."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass

from river_core.errors import JobInterruptedError
from river_core.job import JobRow
from river_core.worker.running_job import RunningJob


@dataclass(frozen=True, slots=True)
class JobHere:
    """A job that a worker has claimed and not finished."""

    row: JobRow
    started: bool
    """Whether it has a thread or a child process, and does not wait for one."""
    pid: int
    """The process that runs it, or the worker's own."""
    claimed_at: float
    """By the monotonic clock of this process, in seconds."""


class JobsHere:
    """Jobs by id, oldest first. Changed by the slots; asked by any thread."""

    def __init__(self) -> None:
        """Hold none."""
        self._running: dict[int, RunningJob] = {}
        self._drained = threading.Condition()

    @property
    def active(self) -> int:
        """How many jobs are in slots, waiting for their thread or running."""
        return len(self._running)

    def ids(self) -> list[int]:
        """Return the ids of the jobs in slots."""
        return list(self._running)

    def jobs_here(self) -> list[JobHere]:
        """Return the jobs as they are now, oldest first."""
        running = list(self._running.values())
        return [JobHere(item.job.row, item.started, self._pid(item), item.claimed_at) for item in running]

    def _pid(self, running: RunningJob) -> int:
        del running
        return os.getpid()

    @property
    def pids(self) -> list[int]:
        """The processes in which jobs run."""
        return [os.getpid()]

    def count_of(self, queue: str) -> int:
        """Return how many jobs of a queue are here, waiting or running."""
        return len(self._of(queue))

    def runs_here(self, queue: str) -> bool:
        """Return whether the caller is a job of a queue."""
        return any(item.runs_here() for item in self._of(queue))

    def interrupt_all(self) -> None:
        """Tell every job to end for a stop of the worker, and raise inside those that run."""
        for running in list(self._running.values()):
            running.stop(JobInterruptedError)
            running.interrupt(JobInterruptedError)

    def wait_drained(self, timeout: float | None) -> bool:
        """Wait up to `timeout` seconds until no job is left; return whether that is so."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._drained:
            while self._running:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._drained.wait(left)
        return True

    def _of(self, queue: str | None) -> list[RunningJob]:
        return [item for item in list(self._running.values()) if queue in (None, item.job.row.queue)]

    def _is_here(self, running: RunningJob) -> bool:
        """Tell whether a job is here in this attempt: it may have been claimed again meanwhile."""
        return self._running.get(running.job.row.id) is running

    def _forget(self, running: RunningJob) -> None:
        if self._is_here(running):
            del self._running[running.job.row.id]

    def _tell_drained(self) -> None:
        if not self._running:
            with self._drained:
                self._drained.notify_all()
