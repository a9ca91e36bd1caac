"""The second thread of a child process: it listens to the worker, also while a job runs in the main thread.

It takes jobs in, passes on what the worker wants of the one that runs, and looks at that one's time limits.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread
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
        self.inbox: SimpleQueue[Sent | None] = SimpleQueue()
        """The jobs that came, and None once the worker says that there are no more."""
        self._connection = connection
        self._running = running
        self._told = told
        self._wake, self._woken = os.pipe()
        self._look_at = 0.0
        self._written: dict[int, JobState | None] = {}
        self._was_written = Event()

    def start(self) -> None:
        """Begin to listen."""
        Thread(target=self._listen, name="river-child-listener", daemon=True).start()

    def look_again(self, when: float) -> None:
        """Look at the time of the job that runs at this moment, if that is earlier than planned."""
        if when < self._look_at:
            self._look_at = when
            os.write(self._woken, b".")

    def wait_written(self, number: int) -> JobState | None:
        """Wait until the worker says that a job's end is written, and return the row's state."""
        while number not in self._written:
            self._was_written.wait()
            self._was_written.clear()
        return self._written.pop(number)

    # -- the thread

    def _listen(self) -> None:
        frames = wire.Frames()
        while True:
            self._look_at = math.inf  # what is set from here on wakes this thread
            self._look_at = self._next_look()
            seconds = max(self._look_at - time.monotonic(), 0.0)
            ready = wait_readable([self._connection.fileno(), self._wake], seconds)
            if self._wake in ready:
                os.read(self._wake, 4096)
            if self._connection.fileno() in ready:
                for message in frames.feed(self._read()):
                    if message[0] == wire.END:
                        self.inbox.put(None)
                        return
                    self._hear(message)
            self._expire()

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
                for sent in jobs:
                    self.inbox.put(sent)
            case (wire.STOP, number, cause):
                self._stop(number, wire.CAUSES[cause], raised=False)
            case (wire.INTERRUPT,):
                self._stop(None, JobInterruptedError, raised=True)
            case (wire.WRITTEN, number, state):
                self._written[number] = JobState(state) if state is not None else None
                self._was_written.set()
            case (wire.TELL, told):
                self._be_told(told)

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
