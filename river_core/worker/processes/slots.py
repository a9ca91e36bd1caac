"""Slots in child processes: the same waiting jobs and places as threads have, with keepers in their stead."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from queue import Empty
from typing import Any

from river_core.errors import JobCancelError, JobInterruptedError
from river_core.job_handle import Inserter
from river_core.loss import Loss, Terminated
from river_core.worker.completion import Completion
from river_core.worker.ends import Turns
from river_core.worker.event_loop import EventLoop
from river_core.worker.executor import Executor
from river_core.worker.processes import wire
from river_core.worker.processes.config import ProcessConfig
from river_core.worker.processes.keeper import END_SECONDS, Keeper
from river_core.worker.processes.starting import Starter
from river_core.worker.running_job import RunningJob
from river_core.worker.slots import ThreadSlots

GIVE_BACK_SECONDS = 3.0
LOOK_SECONDS = 0.005

logger = logging.getLogger(__name__)


class ProcessSlots(ThreadSlots):
    """Up to `size` jobs that run, each in a child process."""

    def __init__(
        self,
        name: str,
        size: int,
        executor: Executor,
        client: Inserter,
        finished: Callable[[Completion], None],
        freed: Callable[[], None],
        loop: EventLoop,
        stage: Starter,
        config: ProcessConfig,
        *,
        claim_ahead: bool = False,
        turns: Turns | None = None,
    ) -> None:
        """Run jobs in children that `stage` forks; the rest is as for threads."""
        super().__init__(
            name, size, executor, client, finished, freed, loop, claim_ahead=claim_ahead, turns=turns
        )
        self.closing = False
        self.told: dict[str, Any] = {}
        self._stage = stage
        self._config = config
        self._min_size = config.min_size
        self._keepers: list[Keeper] = []
        self._kept = 0

    def open(self) -> None:
        """Start the children that are there whether or not there is anything to do."""
        self._stage.open()
        for _ in range(self.least - len(self._keepers)):
            self._start_thread()

    @property
    def least(self) -> int:
        """How many children stay when there is little to do."""
        return self.size if self._min_size is None else min(self._min_size, self.size)

    def _start_thread(self) -> None:
        self._kept += 1
        name = f"{self.name}-{self._kept}"
        keeper = Keeper(name, self, self._stage, self._config.max_jobs_per_child)
        keeper.thread.start()
        self._keepers.append(keeper)
        self._threads.append(keeper.thread)

    def _set_apart(self, jobs: list[RunningJob]) -> None:
        """Do nothing: a coroutine has a child for itself, too."""

    @property
    def pids(self) -> list[int]:
        """The process ids of the children that live."""
        return [pid for keeper in list(self._keepers) if (pid := keeper.pid) is not None]

    def _pid(self, running: RunningJob) -> int:
        row = running.job.row
        pids = (keeper.pid_of(row.id, row.attempt) for keeper in list(self._keepers))
        return next((pid for pid in pids if pid is not None), super()._pid(running))

    def tell(self, key: str, told: Any) -> None:
        """Tell all children, and those to come; the last that was told under a key counts."""
        self.told[key] = told
        for keeper in list(self._keepers):
            keeper.tell(key)

    def resize(self, size: int, least: int | None = None) -> None:
        """Let so many jobs run from now on; children that are too many go when they have nothing to do."""
        with self._lock:
            self._min_size = self._min_size if least is None else least
            surplus = len(self._keepers) - size
            self.size = size
            self._wake_at = size - 1
        for _ in range(surplus):
            self._waiting.put(None)
        if not self.closing:
            self.open()
        self._freed()

    # -- for keepers

    def next_job(self, keeper: Keeper) -> RunningJob | None:
        """Wait for a job; None when the keeper is to leave."""
        while True:
            try:
                running = self._waiting.get(timeout=self._keepalive())
            except Empty:
                if self._dismiss(keeper, self.least):
                    return None
                continue
            if running is None:
                if self._dismiss(keeper, self.size):
                    return None
                continue
            if self._may_run(running):
                return running

    def _keepalive(self) -> float | None:
        return None if len(self._keepers) <= self.least else self._config.keepalive

    def _dismiss(self, keeper: Keeper, least: int) -> bool:
        """Let a keeper go, unless that leaves too few."""
        with self._lock:
            if len(self._keepers) <= least and not self.closing:
                return False
            self._keepers.remove(keeper)
            if keeper.thread in self._threads:
                self._threads.remove(keeper.thread)
            return True

    def _may_run(self, running: RunningJob) -> bool:
        """Note the start of a job, unless it was given back, or its worker stops before it began."""
        if running.job.stop_cause is JobInterruptedError:
            if running.take_back(started=False):
                self._hand_back([running])
            return False
        return running.begin(None)

    def more_jobs(self, count: int) -> list[RunningJob]:
        """Return up to `count` jobs that wait, a fair share of them, and none while jobs are not short."""
        if self._ahead is None or not self._budget():
            return []
        jobs: list[RunningJob] = []
        share = self._waiting.qsize() // max(len(self._keepers), 1)
        for _ in range(min(count, share)):
            try:
                running = self._waiting.get_nowait()
            except Empty:
                break
            if running is None:
                self._waiting.put(None)
                break
            if self._may_run(running):
                jobs.append(running)
        return jobs

    def put_back(self, jobs: list[RunningJob]) -> None:
        """Let other children have jobs that did not start; give them back where there will be none."""
        for running in jobs:
            running.unbegin()
            if self.closing:
                if running.take_back(started=False):
                    self._hand_back([running])
            else:
                self._waiting.put(running)

    def write(self, running: RunningJob, completion: Completion) -> None:
        """Write the outcome of a job that has not left its child yet."""
        if running.given_back:
            if completion.receipt is not None:
                completion.receipt.settle(None)
        elif self._ends.put(completion, self._is_alone):
            self._ends.write_turn()

    def ended(self, running: RunningJob, completion: Completion | None, seconds: float) -> None:
        """Take the end of a job, after a run of so many seconds."""
        if self._ahead is not None:
            self._ahead.ran(seconds)
        is_mine = (
            completion is not None and not running.given_back and self._ends.put(completion, self._is_alone)
        )
        self._leave(running)
        if is_mine:
            self._ends.write_turn()

    def lost(self, running: RunningJob, loss: Loss | None) -> None:
        """Take the loss of a job's child: the task says what that means, for a stop the row is given back."""
        if not running.given_back:
            self._ends.write_loss(running, loss)
        self._leave(running)

    # -- stops and limits

    def cancel(self, job_id: int) -> bool:
        """Tell one job to end, in its child too; return whether it is here and did not know."""
        first = super().cancel(job_id)
        if first:
            for keeper in list(self._keepers):
                keeper.tell_stop(job_id, wire.CAUSES.index(JobCancelError))
        return first

    def terminate(self, job_id: int, attempt: int, number: int) -> bool:
        """End an attempt by a signal to its child; return whether it was here. No other job is hit."""
        running = self._running.get(job_id)
        if running is None or running.job.row.attempt != attempt:
            return False
        if running.take_back(started=False):
            self._ends.write_loss(running, Terminated(number))
            self._leave(running)
            return True
        return any(keeper.terminate(job_id, attempt, number) for keeper in list(self._keepers))

    def interrupt_all(self) -> None:
        """Tell every job to end for a stop of the worker, by raising in it or by killing its child."""
        if self._config.kill_at_stop:
            self.abandon()
            return
        for running in list(self._running.values()):
            running.stop(JobInterruptedError)
        for keeper in list(self._keepers):
            keeper.interrupt()

    def abandon(self) -> None:
        """Kill every child that runs a job: others may have taken the jobs over."""
        for running in list(self._running.values()):
            running.stop(JobInterruptedError)
        for keeper in list(self._keepers):
            keeper.kill()

    def expire(self) -> None:
        """Do nothing: children look at the time themselves, and their keepers look at them."""

    def give_back(self) -> None:
        """Kill the children, and write all jobs that are still here as interrupted."""
        self.closing = True
        self.abandon()
        until = time.monotonic() + GIVE_BACK_SECONDS
        while any(running.started for running in list(self._running.values())):
            if time.monotonic() >= until:
                break
            time.sleep(LOOK_SECONDS)
        super().give_back()

    def give_back_waiting(self, older_than: float = 0.0, queue: str | None = None) -> None:
        """Give back jobs that have waited for a child, those that wait inside of one too.

        Those that wait long stay where a child is about to take them: it takes a moment to start.
        """
        if older_than:  # what a child makes wait its keeper takes back by itself
            self._give_back_surplus(time.monotonic() - older_than)
            return
        for keeper in list(self._keepers):
            keeper.take_back()
        super().give_back_waiting(older_than, queue)

    def _give_back_surplus(self, before: float) -> None:
        free = sum(keeper.is_free for keeper in list(self._keepers))
        waiting = [item for item in list(self._running.values()) if not item.started][free:]
        late = [item for item in waiting if item.claimed_at <= before]
        self._hand_back([item for item in late if item.take_back(started=False)])

    def owns_current_thread(self) -> bool:
        """Return False: no job runs in this process."""
        return False

    def close(self) -> None:
        """End the children; one that does not end by itself is killed."""
        self.closing = True
        keepers = list(self._keepers)
        super().close()
        for keeper in keepers:
            keeper.ring()
        until = time.monotonic() + END_SECONDS + 1
        for keeper in keepers:
            keeper.thread.join(max(until - time.monotonic(), 0.0))
            if keeper.thread.is_alive():
                keeper.kill()
                keeper.thread.join(END_SECONDS)
