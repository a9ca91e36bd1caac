"""Slots on threads: where claimed jobs wait for a free thread and run.

One queue serves all threads, so a thread that is done takes the next job without a word to anyone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from river_core.errors import JobCancelError, JobInterruptedError, JobTimeoutError
from river_core.job import JobRow
from river_core.job_handle import Inserter, Job
from river_core.loss import TimeLimitReached
from river_core.outcome import Outcome
from river_core.worker.completion import Completion, call_after_write
from river_core.worker.ends import Ends, Turns, receipt_of
from river_core.worker.event_loop import EventLoop
from river_core.worker.events import EventKind
from river_core.worker.executor import Awaiting, Executor
from river_core.worker.places import Places
from river_core.worker.running_job import RunningJob
from river_core.worker.stuck import StuckJobs

THREADS_FOR_COROUTINES = 2
"""Coroutines need a thread only until the event loop has them, so these few start any number."""

logger = logging.getLogger(__name__)


class ThreadSlots(Places):
    """Up to `size` jobs that run, of one queue or of all: in threads, coroutines on the event loop."""

    def __init__(
        self,
        name: str,
        size: int,
        executor: Executor,
        client: Inserter,
        finished: Callable[[Completion], None],
        freed: Callable[[], None],
        loop: EventLoop,
        *,
        claim_ahead: bool = False,
        stuck: StuckJobs | None = None,
        turns: Turns | None = None,
    ) -> None:
        """Run jobs by `executor`, coroutines on `loop`; hand completions to `finished`, then say `freed`.

        By `turns` the end of a job beside which there is no other is written in its own thread.
        """
        super().__init__(size, claim_ahead)
        self.name = name
        self._executor = executor
        self._client = client
        self._finished = finished
        self._ends = Ends(executor, client, finished, turns, loop)
        self._freed = freed
        self._loop = loop
        self._threadless = 0
        self._stuck = stuck
        self._leaving: set[threading.Thread] = set()
        self._waiting: SimpleQueue[RunningJob | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._members: set[int] = set()

    replaces = True
    """Whether a job that is stuck can be replaced by another thread."""

    def submit(self, rows: list[JobRow], reserved: int) -> None:
        """Give claimed rows to the threads and let go of the rest of the `reserved` places."""
        jobs = [RunningJob(Job(row, self._client), self._loop) for row in rows]
        with self._lock:
            if self._executor.may_await:
                self._set_apart(jobs)
            self._fill(jobs, reserved)
            threads = self._threads_wanted()
        for item in jobs:
            self._waiting.put(item)
        if len(rows) < reserved:
            self._freed()
        try:
            self._start_threads(threads)
        except RuntimeError:  # no more threads: what those that are there cannot take goes back
            if not self._threads:
                self.give_back_waiting()
            raise

    def _threads_wanted(self) -> int:
        few = min(self._threadless, THREADS_FOR_COROUTINES)
        return min(len(self._running) - self._threadless + few, self._capacity())

    def _set_apart(self, jobs: list[RunningJob]) -> None:
        for item in jobs:
            if self._executor.frees_thread(item.job.row):
                self._frees_thread(item)

    def _frees_thread(self, running: RunningJob) -> None:
        running.needs_thread = False
        self._threadless += 1

    def _start_threads(self, wanted: int) -> None:
        """Start threads up to `wanted`, for as long as a job waits: quick ones are gone before."""
        for _ in range(wanted - len(self._threads)):
            if self._waiting.empty():
                break
            self._start_thread()

    def _start_thread(self) -> None:
        name = f"{self.name}-{len(self._threads) + 1}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _work(self) -> None:
        self._members.add(threading.get_ident())
        while True:
            running = self._waiting.get()
            if running is None:
                return
            try:
                self._run(running)
            except BaseException as error:
                logger.exception("a slot of %s failed outside its task", self.name)
                self._fail(running, error)
            if self._leaving and threading.current_thread() in self._leaving:
                self._leaving.discard(threading.current_thread())
                return

    def _run(self, running: RunningJob) -> None:
        job = running.job
        if not running.begin(self._executor.timeout(job.row)):
            return
        started = time.perf_counter()
        try:
            completion = self._executor.execute(job, running.call, running.wait)
        except (JobInterruptedError, JobCancelError, JobTimeoutError):
            completion = self._executor.interrupted(job)
        if isinstance(completion, Awaiting):
            self._hand_over(running, completion, started)
        else:
            self._finish(running, completion, started)

    def _hand_over(self, running: RunningJob, awaiting: Awaiting, started: float) -> None:
        """Give a coroutine to the event loop. It keeps its place here, and its thread takes the next job."""
        with self._lock:
            if running.needs_thread:
                self._frees_thread(running)

        def landed(outcome: Outcome | None, error: BaseException | None) -> None:
            try:
                completion = self._executor.landed(running.job, awaiting.attempt, outcome, error)
                self._finish(running, completion, started)
            except BaseException as broken:
                logger.exception("a slot of %s failed outside its task", self.name)
                self._fail(running, broken)

        running.hand_over(awaiting.awaitable, landed)

    def _finish(self, running: RunningJob, completion: Completion | None, started: float) -> None:
        if self._ahead is not None:
            self._ahead.ran(time.perf_counter() - started)
        if completion is None or running.given_back:
            self._leave(running)
        else:
            self._write_and_leave(running, completion)

    def _write_and_leave(self, running: RunningJob, completion: Completion) -> None:
        """Hand the completion over; wait for its write only where somebody wants to hear of it."""
        job = running.job
        receipt = receipt_of(job)
        if receipt is not None:
            completion = replace(completion, receipt=receipt)
        is_mine = self._ends.put(completion, self._is_alone)
        try:
            if receipt is None:
                self._leave(running)
        finally:  # nobody else can write before this has been
            if is_mine:
                self._ends.write_turn()
        if receipt is not None:
            call_after_write(job, receipt.wait())
            self._leave(running)

    def _fail(self, running: RunningJob, error: BaseException) -> None:
        """End the attempt of a job whose outcome could not be decided."""
        row = running.job.row
        self._finished(Completion(row, self._executor.rejected(row, error), EventKind.JOB_FAILED))
        self._leave(running)

    def _leave(self, running: RunningJob) -> None:
        if not running.needs_thread:
            with self._lock:
                self._threadless -= not running.needs_thread
                running.needs_thread = True
        self._forget(running)
        if self._stuck_jobs:
            self._unstick(running)
        if len(self._running) <= self._wake_at:
            self._freed()
        self._tell_drained()

    def terminate(self, job_id: int, attempt: int, number: int) -> bool:
        """Raise JobCancelError inside an attempt, as often as it runs here; return whether it does.

        `number` is the signal that a child process would be sent; threads have none.
        """
        running = self._running.get(job_id)
        if running is None or running.job.row.attempt != attempt:
            return False
        running.stop(JobCancelError)
        return running.interrupt(JobCancelError) or not running.started

    def abandon(self) -> None:
        """End every job as well as can be: others may have taken them over."""
        self.interrupt_all()

    @property
    def least(self) -> int:
        """How many child processes there are at least: none."""
        return 0

    def resize(self, size: int, least: int | None = None) -> None:
        """Let so many jobs run from now on; threads come and go by themselves, whatever `least` says."""
        del least
        with self._lock:
            self.size = size
            self._wake_at = size - 1
            wanted = self._threads_wanted()
        self._start_threads(wanted)
        self._freed()

    def tell(self, key: str, told: Any) -> None:
        """Do nothing: the tasks run in this process."""

    def open(self) -> None:
        """Do nothing: threads start when there is something to do."""

    def expire(self) -> None:
        """Raise JobTimeoutError inside tasks whose time is over; report those that do not hear it."""
        now = time.monotonic()
        for running in list(self._running.values()):
            if running.deadline is not None and running.deadline <= now:
                running.interrupt(JobTimeoutError)
                if self._stuck is not None and running.deadline + self._stuck.threshold <= now:
                    self._report_stuck(running, self._stuck)
            if (limits := running.limits) is not None:
                running.warn(limits, now)
                if limits.hard is not None and limits.hard <= now:
                    self._end_at_limit(running, limits.hard_seconds)

    def _end_at_limit(self, running: RunningJob, seconds: float) -> None:
        """Record the end of a job that its thread cannot be made to leave, and make room for another."""
        if not running.take_back(started=True):
            return
        running.interrupt(JobTimeoutError)
        self._ends.write_loss(running, TimeLimitReached(seconds))
        if self._stuck is not None:
            self._report_stuck(running, self._stuck, replace_it=True)

    def _report_stuck(self, running: RunningJob, stuck: StuckJobs, replace_it: bool = False) -> None:
        """Report a job once, and make room for another one if the answer is so and it still runs."""
        with self._lock:
            if running in self._stuck_jobs:
                return
            self._stuck_jobs[running] = False
        wanted = (stuck.found(running.job.row) or replace_it) and self.replaces
        with self._lock:
            here = self._is_here(running)
            if here:
                self._stuck_jobs[running] = wanted
        if not here:
            self._unstick(running)
        elif wanted:
            self._freed()

    def _unstick(self, running: RunningJob) -> None:
        """Count a stuck job that has ended; its thread goes where another one took its place."""
        with self._lock:
            replaced = self._stuck_jobs.pop(running, None)
            if replaced and threading.current_thread() in self._threads:
                self._leaving.add(threading.current_thread())
                self._threads.remove(threading.current_thread())
        if replaced is not None and self._stuck is not None:
            self._stuck.returned(running.job.row)

    def give_back(self) -> None:
        """Write all jobs that are still here as interrupted, so that another worker may take them at once."""
        self._hand_back([item for item in list(self._running.values()) if item.take_back(started=True)])

    def give_back_waiting(self, older_than: float = 0.0, queue: str | None = None) -> None:
        """Give back jobs, of one queue if it is named, that have waited `older_than` seconds for a thread."""
        before = time.monotonic() - older_than
        waiting = [item for item in self._of(queue) if item.claimed_at <= before]
        self._hand_back([item for item in waiting if item.take_back(started=False)])

    def _hand_back(self, jobs: list[RunningJob]) -> None:
        for item in jobs:
            if item.started:
                self._ends.write_loss(item, None)
            else:
                self._finished(self._executor.interrupted(item.job, started=False))
                self._leave(item)

    def owns_current_thread(self) -> bool:
        """Return whether the caller is one of the threads that run jobs."""
        return threading.get_ident() in self._members or self._loop.owns_current_thread()

    def close(self) -> None:
        """Let idle threads end; threads that still run a task end after it."""
        with self._lock:
            for _ in self._threads:
                self._waiting.put(None)
            self._threads.clear()
