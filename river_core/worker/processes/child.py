"""A child process: runs the jobs it is sent, one at a time, in its main thread.

The ChildListener hears the worker, in a second thread while a job runs.
"""

from __future__ import annotations

import logging
import multiprocessing
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from river_core.errors import JobCancelError, JobInterruptedError, JobTimeoutError
from river_core.forking import end_process, is_astray, let_forks_stray
from river_core.job import JobRow
from river_core.job_handle import Inserter, Job
from river_core.outcome import Outcome
from river_core.worker.completion import Completion, call_after_write
from river_core.worker.events import EventKind
from river_core.worker.executor import Awaiting, Executor
from river_core.worker.loop_in_place import LoopInPlace
from river_core.worker.processes import wire
from river_core.worker.processes.board import Place
from river_core.worker.processes.child_job import ChildJob
from river_core.worker.processes.child_listener import ChildListener, Sent
from river_core.worker.processes.child_signals import ChildSignals
from river_core.worker.processes.config import ProcessConfig
from river_core.worker.processes.memory import MemoryBound

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """What children are made from: they have it by the fork."""

    executor: Executor
    client: Inserter
    config: ProcessConfig


class Child:
    """One child."""

    def __init__(self, plan: ChildPlan, connection: socket.socket, place: Place) -> None:
        """Work for the keeper at the other end of `connection`."""
        self._executor = plan.executor
        self._client = plan.client
        self._config = plan.config
        self._connection = connection
        self._place = place
        self._running: ChildJob | None = None
        self._listener = ChildListener(connection, self._what_runs, plan.config.child_told)
        self._signals = ChildSignals(place, self._what_runs, plan.config.soft_error)
        self._loop = LoopInPlace()
        self._memory = MemoryBound(None)
        self._full = False

    def _what_runs(self) -> ChildJob | None:
        return self._running

    def run(self) -> None:
        """Run jobs until the worker says that there are no more."""
        self._signals.install()
        let_forks_stray()
        number = self._place.index + 1
        multiprocessing.current_process().name = f"{self._config.child_name}-{number}"
        if self._config.child_started is not None:
            self._config.child_started(number)
        self._memory = MemoryBound(self._config.max_memory_per_child)
        self._listener.start()
        self._send(wire.frame((wire.READY,)))
        while (sent := self._listener.next_job()) is not None:
            self._take(sent)
        if self._config.child_stopping is not None:
            self._config.child_stopping(number)

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
        self._signals.hold()
        try:
            self._connection.sendall(data)
        finally:
            self._signals.release()
        self._signals.raise_deferred()

    def _completion(self, running: ChildJob) -> Completion | None:
        job = running.job
        running.begin(self._executor.timeout(job.row))
        if running.timeout is not None:
            self._listener.look_again(time.monotonic() + running.timeout)
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
        self._send(self._frame(running, completion, waits))
        if not waits:
            self._place.done = running.number
            return
        call_after_write(job, self._listener.wait_written(running.number))
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
            self._listener.look_again(when)


def child_main(plan: ChildPlan, places: Callable[[int], Place]) -> Callable[[socket.socket, int], None]:
    """Return what the fork stage calls in a child."""

    def run(connection: socket.socket, place: int) -> None:
        Child(plan, connection, places(place)).run()

    return run
