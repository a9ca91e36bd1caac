"""One claimed job in a slot: whether it started, was given back, and how to interrupt it.

An exception can be raised inside a running task, for a stop or a time-out; Python delivers it between
two byte codes, so code that blocks in C sees it only when it returns. A coroutine is cancelled instead.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from river_core.errors import JobCancelError, JobInterruptedError, JobTimeoutError
from river_core.outcome import Outcome
from river_core.task import Job, Task, Worked
from river_core.worker.event_loop import EventLoop
from river_core.worker.flight import (
    Flight,
    Landed,
    Later,
    current_flight,
    is_current,
    wait_for_landing,
)


@dataclass(slots=True)
class Limits:
    """When a task hears that its time is nearly over, and when it is, by the monotonic clock."""

    soft: float | None
    hard: float | None
    hard_seconds: float
    error: type[BaseException]
    when_told: Callable[[], object] | None = None
    told: bool = False


class RunningJob:
    """A job in a slot, and the thread that an exception can be raised in while the task runs."""

    __slots__ = (
        "_flight",
        "_interruptible",
        "_lock",
        "_loop",
        "_thread_id",
        "claimed_at",
        "deadline",
        "given_back",
        "job",
        "limits",
        "needs_thread",
        "started",
        "timeout",
    )

    def __init__(self, job: Job, loop: EventLoop) -> None:
        """Hold a job that waits for a thread; should it turn out to be a coroutine, `loop` runs it."""
        self.job = job
        self.needs_thread = True
        self._loop = loop
        self._flight: Flight | None = None
        self.claimed_at = time.monotonic()
        self.started = False
        self.given_back = False
        self.timeout: float | None = None
        self.deadline: float | None = None
        self.limits: Limits | None = None
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

    def unbegin(self) -> None:
        """Note that the job had a place, and did not start after all."""
        with self._lock:
            self.started = False

    def take_back(self, started: bool) -> bool:
        """Mark the job as given back, once, and only before its start unless `started`; return if it was."""
        with self._lock:
            if self.given_back or (self.started and not started):
                return False
            self.given_back = True
            return True

    def call(self, task: Task, job: Job) -> Worked:
        """Run the task, from now on under its time-out; exceptions from `interrupt` arrive only in here.

        What a coroutine task gives is to be awaited inside a flight, or given to `hand_over` or `wait`.
        """
        self._thread_id = threading.get_ident()
        self._interruptible = True
        job.host = self
        if self.timeout is not None:
            self.deadline = time.monotonic() + self.timeout
        try:
            if job.stop_cause is not None and (task.adapter or job.stop_cause is JobInterruptedError):
                raise _not_begun(job.stop_cause)  # River begins a job cancelled before; Celery and RQ do not
            result = task.work(job)
            if result is None or not isinstance(result, Awaitable):
                return result
            return Later(result, _await_body)
        except JobTimeoutError as error:
            if error.seconds or self.timeout is None:
                raise
            raise JobTimeoutError(self.timeout) from error
        finally:
            with self._lock:
                self._interruptible = False
            job.host = None
            self.limits = None

    def limit_time(
        self,
        soft: float | None,
        hard: float | None,
        error: type[BaseException],
        told: Callable[[], object] | None = None,
    ) -> None:
        """Bound the attempt from now on."""
        now = time.monotonic()
        if soft is None and hard is None:
            self.limits = None
            return
        self.limits = Limits(
            None if soft is None else now + soft,
            None if hard is None else now + hard,
            hard or 0.0,
            error,
            told,
        )

    def renew_process(self) -> None:
        """Do nothing: a thread has no process of its own."""

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Await on the event loop and block this thread until the end."""
        results: list[Any] = []

        async def collect() -> None:
            results.append(await awaitable)

        try:
            self.wait(Later(collect(), _await_body))
        finally:
            self._flight = None
        return results[0]

    def warn(self, limits: Limits, now: float) -> bool:
        """Raise the error of the soft limit in the task, once, when it is due; return whether it was."""
        if limits.told or limits.soft is None or limits.soft > now:
            return False
        limits.told = True
        if not self._warned(limits.error):
            return False
        if limits.when_told is not None:
            limits.when_told()
        return True

    def _warned(self, error: type[BaseException]) -> bool:
        if self._flight is not None:
            return self._flight.cancel(error)
        with self._lock:
            return self._interruptible and self._raise(error)

    def runs_here(self) -> bool:
        """Return whether the task, or its coroutine, is who asks."""
        if self._flight is not None:
            return is_current(self._flight)
        return self._interruptible and self._thread_id == threading.get_ident()

    def hand_over(self, awaitable: Awaitable[Outcome | None], landed: Landed) -> None:
        """Give the job to the event loop; `landed` hears of its end. Raises as `Flight.start` does."""
        self._take_off().start(awaitable, landed)

    def wait(self, awaitable: Awaitable[Outcome | None]) -> Outcome | None:
        """Let the event loop run the job, and block this thread until its end."""
        return wait_for_landing(self._take_off(), awaitable)

    def _take_off(self) -> Flight:
        self.deadline = None  # it runs from where the coroutine begins
        self._flight = Flight(self._loop, self.job, self.timeout, self._set_deadline)
        return self._flight

    def _set_deadline(self) -> None:
        if self.timeout is not None:
            self.deadline = time.monotonic() + self.timeout

    def stop(self, cause: type[JobCancelError | JobInterruptedError]) -> bool:
        """Tell the job to end, a coroutine by its cancellation; return whether this was the first time."""
        first = self.job.stop(cause)
        if self._flight is not None:
            self._flight.cancel(cause)
        return first

    def interrupt(self, cause: type[JobCancelError | JobInterruptedError | JobTimeoutError]) -> bool:
        """Raise `cause` inside the task if it still runs; return whether it was raised."""
        if self._flight is not None:
            return self._flight.cancel(cause)
        with self._lock:
            if not self._interruptible:
                return False
            self._interruptible = False
            return self._raise(cause)

    def _raise(self, error: type[BaseException]) -> bool:
        thread = ctypes.c_ulong(self._thread_id)
        return bool(ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(error)))


def _not_begun(cause: type[BaseException]) -> BaseException:
    return JobInterruptedError(began=False) if cause is JobInterruptedError else cause()


async def _await_body(awaitable: Awaitable[Outcome | None]) -> Outcome | None:
    return await current_flight().body(awaitable)
