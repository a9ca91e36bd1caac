"""A thread of the worker's process that keeps one child: gives it jobs, and knows what each one came to."""

from __future__ import annotations

import logging
import os
import threading
import time
from functools import partial
from typing import Any

from river_core import clock
from river_core.errors import RiverError
from river_core.job import JobState
from river_core.loss import ProcessDied, TimeLimitReached
from river_core.worker.processes import wire
from river_core.worker.processes.child_control import ChildControl
from river_core.worker.processes.handed import Handed, HandedJobs, Receipt
from river_core.worker.processes.pool import Pool
from river_core.worker.processes.readable import wait_readable
from river_core.worker.processes.starting import ChildProcess, Starter
from river_core.worker.running_job import RunningJob

CHUNK = 64
SHORT_SECONDS = 0.005
"""Jobs that wait in a child behind one that takes longer than this go to another child."""
PAUSE_SECONDS = 0.0005
"""So long a child that has many jobs is left alone, so that their ends are read together."""
END_SECONDS = 5.0
STATUS_SECONDS = 2.0
FIRST_DELAY = 0.1
MAX_DELAY = 5.0

logger = logging.getLogger(__name__)


class Keeper(ChildControl):
    """One thread with one child after the other. What is public may be called by any thread."""

    def __init__(self, name: str, pool: Pool, stage: Starter, max_jobs: int | None) -> None:
        """Start nothing yet; a child is replaced after `max_jobs` jobs."""
        super().__init__(pool, stage)
        self.leaving = False
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._max_jobs = max_jobs
        self._number = 0
        self._resting = False
        self._begin()

    def _begin(self) -> None:
        self._frames = wire.Frames()
        self._ready = self._full = False
        self._ended = 0
        self._hard: tuple[int, float, float] | None = None
        self._kill_at = None
        self._progress = time.monotonic()

    @property
    def is_free(self) -> bool:
        """Whether the next job is run at once, or as soon as a child that starts is ready."""
        return not (self._handed or self._resting or self.leaving)

    # -- the thread

    def _run(self) -> None:
        delay = 0.0
        while not (self.leaving or self._pool.closing):
            handed_before = self._number
            if not self._keep_one() and not self._stage.alive:
                return
            delay = 0.0 if self._number > handed_before else min(delay * 2 or FIRST_DELAY, MAX_DELAY)
            self._rest(delay)

    def _rest(self, seconds: float) -> None:
        """Wait before the next child: one that ended before it had a job may do so again."""
        until = time.monotonic() + seconds
        self._resting = seconds > 0
        while time.monotonic() < until and not (self.leaving or self._pool.closing):
            time.sleep(FIRST_DELAY)
        self._resting = False

    def _keep_one(self) -> bool:
        """Keep a child for as long as it lives; return whether there was one."""
        try:
            child = self._stage.start_child()
        except RiverError as error:
            logger.error("%s", error)
            return False
        with self._lock:
            self._child = child
            self._begin()
        try:
            for key in list(self._pool.told):
                self.tell(key)
            self._serve(child)
        except Exception:
            logger.exception("the keeper of process %d failed", child.pid)
            self._stage.kill(child)
        self._part_with(child)
        return True

    def _serve(self, child: ChildProcess) -> None:
        """Give jobs and take their ends until the child is gone or not to be used any more."""
        while not self._ready:
            if self._pool.closing or not self._receive(child):
                return
        while self._feed(child):
            if self._handed and not self._receive(child):
                return

    def _feed(self, child: ChildProcess) -> bool:
        """Give the child jobs if it has few; wait for one if it has none. Return whether it is to go on."""
        has = len(self._handed)
        left = CHUNK if self._max_jobs is None else self._max_jobs - self._ended - has
        if has:
            if has <= CHUNK // 2 and left > 0 and not self._full and self._hard is None:
                self._hand(child, self._pool.more_jobs(min(CHUNK - has, left)))
            return True
        if self._full or left <= 0 or child.ended.is_set():
            return False
        first = self._pool.next_job(self)
        if first is None:
            self.leaving = True
            return False
        self._hand(child, [first, *self._pool.more_jobs(min(CHUNK, left) - 1)])
        return True

    def _hand(self, child: ChildProcess, jobs: list[RunningJob]) -> None:
        if not jobs:
            return
        sent = []
        with self._lock:
            generation = child.place.generation
            for running in jobs:
                self._number += 1
                self._handed[self._number] = Handed(running)
                cause = wire.CAUSES.index(running.job.stop_cause)
                sent.append((self._number, generation, wire.row_values(running.job.row), cause))
            self._progress = time.monotonic()
        self._send((wire.JOBS, sent, clock.followed()))

    def _receive(self, child: ChildProcess) -> bool:
        """Wait for the child, the bell or a limit, and act on it; return whether the child is still there."""
        if len(self._handed) > 2:
            time.sleep(PAUSE_SECONDS)
        ready = wait_readable([child.connection.fileno(), self._bell[0]], self._patience())
        if self._bell[0] in ready:
            os.read(self._bell[0], 4096)
        if child.connection.fileno() in ready:
            data = _read(child)
            if not data:
                return False
            for message in self._frames.feed(data):
                self._hear(child, message)
        self._look_at_time(child)
        return True

    def _patience(self) -> float | None:
        times = [self._kill_at, self._hard[1] if self._hard is not None else None]
        if len(self._handed) > 1:
            times.append(self._progress + SHORT_SECONDS)
        first = min((when for when in times if when is not None), default=None)
        return None if first is None else max(first - time.monotonic(), 0.0)

    def _hear(self, child: ChildProcess, message: tuple[Any, ...]) -> None:
        match message:
            case (wire.DONE, number, values, waits):
                self._job_ended(child, number, values, waits)
            case (wire.LIMITS, number, hard, seconds):
                self._hard = None if hard is None else (number, hard, seconds)
            case (wire.SKIPPED, number):
                with self._lock:
                    skipped = self._handed.pop(number, None)
                self._pool.put_back([skipped.running] if skipped is not None else [])
            case (wire.FULL,):
                self._full = True
                self.take_back()
            case (wire.READY,):
                self._ready = True

    def _job_ended(
        self, child: ChildProcess, number: int, values: tuple[Any, ...] | None, waits: bool
    ) -> None:
        with self._lock:
            handed = self._handed.get(number) if waits else self._handed.pop(number, None)
            if handed is None:
                return
            handed.is_written = waits
            now = time.monotonic()
            seconds, self._progress = now - self._progress, now
            if not waits:
                self._ended += 1
                self._hard = self._kill_at = None
        receipt = Receipt(partial(self._tell_written, number)) if waits else None
        row = handed.running.job.row
        completion = wire.unpack_completion(row, values, receipt) if values is not None else None
        if completion is not None and handed.loss and completion.change.state is not JobState.COMPLETED:
            self._pool.lost(handed.running, handed.loss)
        elif waits and completion is not None:
            self._pool.write(handed.running, completion)
        else:
            ran = completion.ran if completion is not None else None
            self._pool.ended(
                handed.running, completion, (ran[1] - ran[0]).total_seconds() if ran else seconds
            )

    def _tell_written(self, number: int, state: JobState | None) -> None:
        self._send((wire.WRITTEN, number, None if state is None else str(state)))

    def _look_at_time(self, child: ChildProcess) -> None:
        now = time.monotonic()
        if self._hard is not None and self._hard[1] <= now:
            self._end_at_limit(child, *self._hard)
        if self._kill_at is not None and self._kill_at <= now:
            self._kill_at = None
            self._stage.kill(child)
        if len(self._handed) > 1 and now - self._progress > SHORT_SECONDS:
            self._progress = now
            self.take_back()

    def _end_at_limit(self, child: ChildProcess, number: int, when: float, seconds: float) -> None:
        """Kill the child for a job that has used up its time, unless it has ended just now."""
        with self._lock:
            self._hard = None
            handed = self._handed.get(number)
            taken = self._handed.take_back(child.place)
            if handed is not None and child.place.done < number:
                handed.loss = TimeLimitReached(seconds)
                self._full = True
                self._stage.kill(child)
        self._pool.put_back(taken)

    def _part_with(self, child: ChildProcess) -> None:
        """End what is left of a child, and say what became of the jobs that it had."""
        if not self._handed:
            self._send((wire.END,))
            child.ended.wait(END_SECONDS)
        self._stage.kill(child)
        if not child.ended.wait(STATUS_SECONDS):
            logger.error("process %d does not end", child.pid)
        with self._lock:
            handed, self._handed = self._handed, HandedJobs()
            self._child = None
        started = child.place.started
        for number, item in handed.items():
            if number > started and item.loss is None:
                self._pool.put_back([item.running])
            else:
                self._lost(child, item)
        self._stage.forget(child)

    def _lost(self, child: ChildProcess, handed: Handed) -> None:
        running = handed.running
        if handed.is_written:
            self._pool.ended(running, None, 0.0)
            return
        if handed.interrupted:
            self._pool.lost(running, None)
            return
        loss = handed.loss or ProcessDied(child.status)
        text = "process %d that ran job %d has ended: %s"
        what = loss.description if isinstance(loss, ProcessDied) else str(loss)
        logger.error(text, child.pid, running.job.row.id, what, extra={"job_id": running.job.row.id})
        self._pool.lost(running, loss)


def _read(child: ChildProcess) -> bytes:
    try:
        return child.connection.recv(wire.READ_BYTES)
    except OSError:
        return b""
