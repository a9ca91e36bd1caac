"""A child process: runs the jobs it is sent, one at a time, in its main thread.

A second thread listens to the worker, so that a cancellation reaches a job that runs.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event, Thread
from types import FrameType
from typing import Any

from river_core import clock
from river_core.errors import JobCancelError, JobInterruptedError, JobTimeoutError
from river_core.forking import end_process, is_astray, let_forks_stray
from river_core.job import JobRow, JobState
from river_core.job_handle import Inserter, Job
from river_core.outcome import Outcome
from river_core.worker.completion import Completion, call_after_write
from river_core.worker.events import EventKind
from river_core.worker.executor import Awaiting, Executor
from river_core.worker.loop_in_place import LoopInPlace
from river_core.worker.processes import wire
from river_core.worker.processes.board import Place
from river_core.worker.processes.child_job import RAISE_SIGNAL, ChildJob, is_inside_task
from river_core.worker.processes.config import ProcessConfig
from river_core.worker.processes.memory import MemoryBound
from river_core.worker.processes.readable import wait_readable

UNHEARD = ("SIGHUP", "SIGQUIT", "SIGTSTP")
"""Handled by doing nothing instead of ignored: the programs that a task starts would inherit that."""
FAR = 3600.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """What children are made from: they have it by the fork."""

    executor: Executor
    client: Inserter
    config: ProcessConfig


Sent = tuple[int, int, tuple[Any, ...], int]
"""A job as it is sent: its number, the generation, the row's values, and why it should stop."""


class Child:
    """One child."""

    def __init__(self, plan: ChildPlan, connection: socket.socket, place: Place) -> None:
        """Work for the keeper at the other end of `connection`."""
        self._executor = plan.executor
        self._client = plan.client
        self._config = plan.config
        self._connection = connection
        self._place = place
        self._inbox: SimpleQueue[Sent | None] = SimpleQueue()
        self._running: ChildJob | None = None
        self._loop = LoopInPlace()
        self._memory = MemoryBound(None)
        self._wake, self._woken = os.pipe()
        self._look_at = 0.0
        self._written: dict[int, JobState | None] = {}
        self._was_written = Event()
        self._full = False
        self._sending = False
        self._deferred = False

    def run(self) -> None:
        """Run jobs until the worker says that there are no more."""
        self._set_signals()
        let_forks_stray()
        number = self._place.index + 1
        multiprocessing.current_process().name = f"{self._config.child_name}-{number}"
        if self._config.child_started is not None:
            self._config.child_started(number)
        self._memory = MemoryBound(self._config.max_memory_per_child)
        Thread(target=self._listen, name="river-child-listener", daemon=True).start()
        self._send(wire.frame((wire.READY,)))
        while (sent := self._inbox.get()) is not None:
            self._take(sent)
        if self._config.child_stopping is not None:
            self._config.child_stopping(number)

    # -- the main thread

    def _take(self, sent: Sent) -> None:
        """Run a job unless the worker took it back; see `Board` for the order of these steps."""
        number, generation, values, cause = sent
        place = self._place
        if self._full or place.generation != generation:
            return
        before, place.started = place.started, number
        if place.generation != generation:
            place.started = before
            self._send(wire.frame((wire.SKIPPED, number)))
            return
        job = Job(JobRow(*values), self._client)
        running = ChildJob(job, self._loop, number, self._limits_changed)
        if (why := wire.CAUSES[cause]) is not None:
            running.stop(why)
        self._running = running
        try:
            self._work(running)
        finally:
            self._running = None

    def _work(self, running: ChildJob) -> None:
        try:
            completion = self._completion(running)
        except BaseException as error:
            logger.exception("a child process failed outside its task")
            completion = self._rejected(running.job.row, error)
        if is_astray():
            end_process(0 if completion is None or completion.change.error is None else 1)
        self._finish(running, completion)
        if running.wants_renewal or self._memory.exceeded():
            self._full = True
            self._send(wire.frame((wire.FULL,)))

    def _send(self, data: bytes) -> None:
        """Send whole messages: what is to be raised in a task meanwhile is raised after that."""
        if is_astray():
            return
        self._sending = True
        try:
            self._connection.sendall(data)
        finally:
            self._sending = False
        if self._deferred:
            self._deferred = False
            signal.raise_signal(RAISE_SIGNAL)

    def _completion(self, running: ChildJob) -> Completion | None:
        job = running.job
        running.begin(self._executor.timeout(job.row))
        if running.timeout is not None:
            self._look_again(time.monotonic() + running.timeout)
        try:
            completion = self._executor.execute(job, running.call, running.wait)
        except (JobInterruptedError, JobCancelError, JobTimeoutError):
            return self._executor.interrupted(job)
        return self._awaited(running, completion) if isinstance(completion, Awaiting) else completion

    def _awaited(self, running: ChildJob, awaiting: Awaiting) -> Completion | None:
        """Run a coroutine in this thread to its end."""
        landed: list[Completion | None] = []

        def land(outcome: Outcome | None, error: BaseException | None) -> None:
            landed.append(self._executor.landed(running.job, awaiting.attempt, outcome, error))

        running.hand_over(awaiting.awaitable, land)
        return landed[0]

    def _rejected(self, row: JobRow, error: BaseException) -> Completion:
        return Completion(row, self._executor.rejected(row, error), EventKind.JOB_FAILED)

    def _finish(self, running: ChildJob, completion: Completion | None) -> None:
        job = running.job
        waits = completion is not None and job.powers is not None and bool(job.powers.after_write)
        self._was_written.clear()
        self._send(self._frame(running, completion, waits))
        if not waits:
            self._place.done = running.number
            return
        while running.number not in self._written:
            self._was_written.wait()
            self._was_written.clear()
        call_after_write(job, self._written.pop(running.number))
        self._send(wire.frame((wire.DONE, running.number, None, False)))
        self._place.done = running.number

    def _frame(self, running: ChildJob, completion: Completion | None, waits: bool) -> bytes:
        number = running.number
        if completion is None:
            return wire.frame((wire.DONE, number, None, False))
        try:
            return wire.frame((wire.DONE, number, wire.pack_completion(completion), waits))
        except Exception as error:  # noqa: BLE001 - whatever a value raises when it is pickled
            failed = self._rejected(running.job.row, error)
            return wire.frame((wire.DONE, number, wire.pack_completion(failed), waits))

    def _limits_changed(self, running: ChildJob) -> None:
        limits = running.limits
        hard = limits.hard if limits is not None else None
        seconds = limits.hard_seconds if limits is not None else 0.0
        self._send(wire.frame((wire.LIMITS, running.number, hard, seconds)))
        when = running.next_time()
        if when is not None:
            self._look_again(when)

    def _look_again(self, when: float) -> None:
        """Have the listener look at this time, if it would only look later."""
        if when < self._look_at:
            self._look_at = when
            os.write(self._woken, b".")

    # -- the listener

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
                data = self._read()
                for message in frames.feed(data):
                    if message[0] == wire.END:
                        self._inbox.put(None)
                        return
                    self._hear(message)
            self._expire()

    def _next_look(self) -> float:
        far = time.monotonic() + FAR
        running = self._running
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
                    self._inbox.put(sent)
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
        if self._config.child_told is None:
            return
        try:
            self._config.child_told(told)
        except Exception:
            logger.exception("what a child process was told has no effect")

    def _stop(
        self, number: int | None, cause: type[JobCancelError | JobInterruptedError] | None, raised: bool
    ) -> None:
        running = self._running
        if running is None or cause is None or (number is not None and running.number != number):
            return
        running.stop(cause)
        if raised:
            running.interrupt(cause)

    def _expire(self) -> None:
        running, now = self._running, time.monotonic()
        if running is None:
            return
        if running.deadline is not None and running.deadline <= now:
            running.interrupt(JobTimeoutError)
            running.deadline = None
        if (limits := running.limits) is not None:
            running.warn(limits, now)

    # -- signals

    def _set_signals(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for name in UNHEARD:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _do_nothing)
        signal.signal(signal.SIGUSR2, signal.SIG_DFL)
        signal.signal(RAISE_SIGNAL, self._raise_in_task)
        signal.signal(signal.SIGTERM, self._terminate)

    def _raise_in_task(self, number: int, frame: FrameType | None) -> None:
        running = self._running
        if running is None:
            return
        if self._sending:
            self._deferred = True
            return
        error = running.take_pending(self._config.soft_error)
        if error is not None and is_inside_task(frame):
            raise error()

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        """End by SIGTERM where the worker means the job that runs; a supervisor may send it to everybody."""
        running = self._running
        if running is not None and self._place.terminated == running.number:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    return None


def child_main(plan: ChildPlan, places: Callable[[int], Place]) -> Callable[[socket.socket, int], None]:
    """Return what the fork stage calls in a child."""

    def run(connection: socket.socket, place: int) -> None:
        Child(plan, connection, places(place)).run()

    return run
