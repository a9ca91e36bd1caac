"""What other threads may do to the child of a keeper at any moment: tell it something, end a job or it.

A job is charged to the child only if the board shows that it began; whatever is taken back before goes to
other children.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from typing import Any

from river_core.loss import Terminated
from river_core.worker.processes import wire
from river_core.worker.processes.handed import Handed, HandedJobs
from river_core.worker.processes.pool import Pool
from river_core.worker.processes.starting import ChildProcess, Starter
from river_core.worker.running_job import RunningJob

SIGNAL_SECONDS = 0.002
TERM_SECONDS = 3.0
"""A child that does not end by SIGTERM is killed after this time."""

logger = logging.getLogger(__name__)


class ChildControl:
    """The child that there is just now, if any, and the jobs that it was given. For any thread."""

    def __init__(self, pool: Pool, stage: Starter) -> None:
        """Have no child yet."""
        self._pool = pool
        self._stage = stage
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._telling = threading.Lock()
        self._bell = os.pipe()
        self._child: ChildProcess | None = None
        self._handed = HandedJobs()
        self._full = False
        self._kill_at: float | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the child, while there is one."""
        child = self._child
        return child.pid if child is not None and not child.ended.is_set() else None

    def pid_of(self, row_id: int, attempt: int) -> int | None:
        """Return the process id of the child if it has this attempt."""
        with self._lock:
            return self.pid if self._handed.number_of(row_id, attempt) is not None else None

    def ring(self) -> None:
        """Let the thread look around now."""
        os.write(self._bell[1], b".")

    def tell_stop(self, row_id: int, cause: int) -> None:
        """Let the child's job know that it should end, without raising in it."""
        with self._lock:
            number = self._handed.number_of(row_id)
        if number is not None:
            self._send((wire.STOP, number, cause))

    def tell(self, key: str) -> None:
        """Tell the child what its pool has under a key by now.

        Each reads and sends in one go: of two that meet here none can send last what it read first.
        """
        with self._telling:
            self._send((wire.TELL, self._pool.told[key]))

    def interrupt(self) -> None:
        """Take back what has not started, and raise JobInterruptedError in what has."""
        self.take_back()
        self._send((wire.INTERRUPT,))

    def take_back(self) -> None:
        """Let others have what the child has not started."""
        with self._lock:
            child = self._child
            taken = self._handed.take_back(child.place) if child is not None else []
        self._put_back(taken)

    def _put_back(self, taken: list[RunningJob]) -> None:
        """Let others have jobs, and the thread notice where its child has none left to tell of."""
        if taken:
            self._pool.put_back(taken)
            self.ring()

    def terminate(self, row_id: int, attempt: int, number: int) -> bool:
        """Send a signal to the child if it runs this very attempt, which cannot end and another begin first.

        Return whether the attempt was there: one that had not started ends without a signal.
        """
        with self._lock:
            sent, child = self._handed.number_of(row_id, attempt), self._child
            if sent is None or child is None:
                return False
            handed = self._handed[sent]
            taken = self._handed.take_back(child.place)
            waited = handed.running in taken
            is_here = waited or child.place.done < sent
            if is_here and not waited:
                self._signal(child, handed, sent, number)
        self._put_back([running for running in taken if running is not handed.running])
        if waited:
            self._pool.lost(handed.running, Terminated(number))
            self.ring()
        return is_here

    def _signal(self, child: ChildProcess, handed: Handed, sent: int, number: int) -> None:
        """Send a signal for the job that runs, and give the child nothing else before it has arrived."""
        if number == signal.SIGUSR1:
            self._stage.kill(child, number, wait=True)
            time.sleep(SIGNAL_SECONDS)
            return
        handed.loss = Terminated(number)
        child.place.terminated = sent
        self._full = True  # the signal may arrive after the job's end: nothing else may run there then
        self._stage.kill(child, number)
        if number != signal.SIGKILL:
            self._kill_at = time.monotonic() + TERM_SECONDS
            self.ring()

    def kill(self) -> None:
        """End the child; what it runs is given back, and so is what it has not started."""
        with self._lock:
            child = self._child
            taken = self._handed.take_back(child.place) if child is not None else []
            for handed in self._handed.values():
                handed.interrupted = True
            self._full = True
            if child is not None:
                self._stage.kill(child)
        self._put_back(taken)

    def _send(self, message: tuple[Any, ...]) -> None:
        """Send, unless the child is gone: whoever reads from it will notice that."""
        child = self._child
        if child is None:
            return
        try:
            with self._sending:
                child.connection.sendall(wire.frame(message))
        except OSError as error:
            logger.debug("process %d cannot be told: %s", child.pid, error)
