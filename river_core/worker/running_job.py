"""One claimed job in a slot: whether it started, was given back, and how to interrupt it.

An exception can be raised inside a running task, for a stop or a time-out; Python delivers it between
two byte codes, so code that blocks in C sees it only when it returns.
"""

from __future__ import annotations

import ctypes
import threading
import time

from river_core.errors import JobCancelError, JobInterruptedError, JobTimeoutError
from river_core.outcome import Outcome
from river_core.task import Job, Task


class RunningJob:
    """A job in a slot, and the thread that an exception can be raised in while the task runs."""

    __slots__ = (
        "_interruptible",
        "_lock",
        "_thread_id",
        "claimed_at",
        "deadline",
        "given_back",
        "job",
        "started",
        "timeout",
    )

    def __init__(self, job: Job) -> None:
        """Hold a job that waits for a thread."""
        self.job = job
        self.claimed_at = time.monotonic()
        self.started = False
        self.given_back = False
        self.timeout: float | None = None
        self.deadline: float | None = None
        self._thread_id = 0
        self._interruptible = False
        self._lock = threading.Lock()

    def begin(self, timeout: float | None) -> bool:
        """Note that the job has a thread now; return whether it may run: it may have been given back."""
        with self._lock:
            if self.given_back:
                return False
            self.started = True
        self.timeout = timeout
        return True

    def take_back(self, started: bool) -> bool:
        """Mark the job as given back, once, and only before its start unless `started`; return if it was."""
        with self._lock:
            if self.given_back or (self.started and not started):
                return False
            self.given_back = True
            return True

    def call(self, task: Task, job: Job) -> Outcome | None:
        """Run the task, from now on under its time-out; exceptions from `interrupt` arrive only in here."""
        self._thread_id = threading.get_ident()
        self._interruptible = True
        if self.timeout is not None:
            self.deadline = time.monotonic() + self.timeout
        try:
            if job.stop_cause is not None:
                raise job.stop_cause
            return task.work(job)
        except JobTimeoutError as error:
            if error.seconds or self.timeout is None:
                raise
            raise JobTimeoutError(self.timeout) from error
        finally:
            with self._lock:
                self._interruptible = False

    def runs_here(self) -> bool:
        """Return whether the task runs in the thread that asks."""
        return self._interruptible and self._thread_id == threading.get_ident()

    def interrupt(self, cause: type[JobCancelError | JobInterruptedError | JobTimeoutError]) -> bool:
        """Raise `cause` inside the task if it still runs; return whether it was raised."""
        with self._lock:
            if not self._interruptible:
                return False
            self._interruptible = False
            thread = ctypes.c_ulong(self._thread_id)
            return bool(ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(cause)))
