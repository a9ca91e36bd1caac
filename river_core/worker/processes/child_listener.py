"""What a child process hears from its worker: jobs, and what is wanted of the one that runs.

The main thread reads for itself while it waits, so that nobody has to wake it. While it runs a job a second
thread listens, which looks at the job's time limits, too.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable
from threading import Lock, Thread
from typing import Any

from river_core import clock
from river_core.errors import JobCancelError, JobInterruptedError, JobTimeoutError
from river_core.job import JobState
from river_core.worker.processes import wire
from river_core.worker.processes.child_job import ChildJob
from river_core.worker.processes.readable import wait_readable

FAR = 3600.0

Sent = tuple[int, int, tuple[Any, ...], int]
"""A job as it is sent: its number, the generation, the row's values, and why it should stop."""

logger = logging.getLogger(__name__)


class ChildListener:
    """Hears what the worker sends."""

    def __init__(
        self,
        connection: socket.socket,
        running: Callable[[], ChildJob | None],
        told: Callable[[Any], object] | None,
    ) -> None:
        """Listen to the other end of `connection`; `running` returns the job that runs now, if one does.

        `told` is called with what the worker tells its children.
        """
        self._inbox: deque[Sent] = deque()
        self._frames = wire.Frames()
        self._reading = Lock()
        self._over = False
        self._connection = connection
        self._running = running
        self._told = told
        self._wake, self._woken = os.pipe()
        self._look_at = 0.0
        self._written: dict[int, JobState | None] = {}

    def start(self) -> None:
        """Begin to listen."""
        Thread(target=self._listen, name="river-child-listener", daemon=True).start()

    def look_again(self, when: float) -> None:
        """Look at the time of the job that runs at this moment, if that is earlier than planned."""
        if when < self._look_at:
            self._look_at = when
            os.write(self._woken, b".")

    def next_job(self) -> Sent | None:
        """Wait for the next job; None once the worker says that there are no more."""
        while not (self._inbox or self._over):
            self._read_unless(lambda: self._inbox or self._over)
        return self._inbox.popleft() if self._inbox else None

    def wait_written(self, number: int) -> JobState | None:
        """Wait until the worker says that a job's end is written, and return the row's state."""
        while number not in self._written:
            self._read_unless(lambda: number in self._written)
        return self._written.pop(number)

    def _read_unless(self, is_there: Callable[[], object]) -> None:
        """Wait for what the worker sends and take it in, unless the second thread has read it just now."""
        with self._reading:
            if not is_there():
                self._take_in()

    def _take_in(self) -> None:
        for message in self._frames.feed(self._read()):
            self._hear(message)

    # -- the thread

    def _listen(self) -> None:
        while not self._over:
            self._look_at = math.inf  # what is set from here on wakes this thread
            self._look_at = self._next_look()
            seconds = max(self._look_at - time.monotonic(), 0.0)
            ready = wait_readable([self._connection.fileno(), self._wake], seconds)
            if self._wake in ready:
                os.read(self._wake, 4096)
            if self._connection.fileno() in ready:
                self._read_for_main()
            self._expire()

    def _read_for_main(self) -> None:
        """Take in what there is to read, or wait until the main thread, which waits for it, has done so."""
        if not self._reading.acquire(blocking=False):
            with self._reading:
                return
        try:
            if wait_readable([self._connection.fileno()], 0):
                self._take_in()
        finally:
            self._reading.release()

    def _next_look(self) -> float:
        far = time.monotonic() + FAR
        running = self._running()
        return min((running.next_time() if running is not None else None) or far, far)

    def _read(self) -> bytes:
        try:
            data = self._connection.recv(wire.READ_BYTES)
        except OSError:
            data = b""
        if not data:  # the worker is gone: what runs here would be run by another one as well
            os.kill(os.getpid(), signal.SIGKILL)
        return data

    def _hear(self, message: tuple[Any, ...]) -> None:
        match message:
            case (wire.JOBS, jobs, zero):
                clock.follow(zero)
                self._inbox.extend(jobs)
            case (wire.STOP, number, cause):
                self._stop(number, wire.CAUSES[cause], raised=False)
            case (wire.INTERRUPT,):
                self._stop(None, JobInterruptedError, raised=True)
            case (wire.WRITTEN, number, state):
                self._written[number] = JobState(state) if state is not None else None
            case (wire.TELL, told):
                self._be_told(told)
            case (wire.END,):
                self._over = True

    def _be_told(self, told: Any) -> None:
        if self._told is None:
            return
        try:
            self._told(told)
        except Exception:
            logger.exception("what a child process was told has no effect")

    def _stop(
        self, number: int | None, cause: type[JobCancelError | JobInterruptedError] | None, raised: bool
    ) -> None:
        running = self._running()
        if running is None or cause is None or (number is not None and running.number != number):
            return
        running.stop(cause)
        if raised:
            running.interrupt(cause)

    def _expire(self) -> None:
        running, now = self._running(), time.monotonic()
        if running is None:
            return
        if running.deadline is not None and running.deadline <= now:
            running.interrupt(JobTimeoutError)
            running.deadline = None
        if (limits := running.limits) is not None:
            running.warn(limits, now)
