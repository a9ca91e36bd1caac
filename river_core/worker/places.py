"""How many jobs slots have room for, which claims are on their way, and what is said to those meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from river_core.errors import JobCancelError, JobInterruptedError
from river_core.worker.ahead import WORK_SECONDS, AheadBudget, Reservation
from river_core.worker.jobs_here import JobsHere
from river_core.worker.running_job import RunningJob

SLOW_SECONDS = 2 * WORK_SECONDS


class Places(JobsHere):
    """Places for `size` jobs that run, and for those that may wait behind them."""

    def __init__(self, size: int, claim_ahead: bool) -> None:
        """Have all places free; with `claim_ahead` short jobs may wait for one."""
        super().__init__()
        self.size = size
        self._ahead = AheadBudget() if claim_ahead else None
        self._stuck_jobs: dict[RunningJob, bool] = {}  # whether another thread has taken its place
        self._reserved = 0
        self._early: set[int] = set()  # jobs to be cancelled that may be part of a claim on its way here
        self._refuses = False
        self._wake_at = size - 1
        self._lock = threading.Lock()

    @property
    def claims_ahead(self) -> bool:
        """Whether jobs may wait here for a thread."""
        return self._ahead is not None

    def reserve(self) -> Reservation:
        """Take all places for a claim that is about to be made.

        While jobs are claimed ahead nothing is given out before half of them are done, so that claims
        stay large.
        """
        with self._lock:
            budget = self._budget()
            size = self._capacity()
            self._wake_at = size - 1 + budget // 2
            taken = len(self._running) + self._reserved
            if taken > self._wake_at:
                return Reservation(0, 0)
            free = max(size - taken, 0)
            ahead = size + budget - taken - free
            self._reserved += free + ahead
            return Reservation(free, ahead)

    def _capacity(self) -> int:
        """Return how many jobs may run: one more for each that is stuck and was replaced."""
        return self.size + sum(self._stuck_jobs.values()) if self._stuck_jobs else self.size

    def _budget(self) -> int:
        """Return how many jobs may wait: none while the oldest one here takes longer than quick jobs do."""
        if self._ahead is None:
            return 0
        oldest = list(self._running.values())[:1]  # a copy: jobs leave while this is read
        if oldest and time.monotonic() - oldest[0].claimed_at > SLOW_SECONDS:
            return 0
        return self._ahead.jobs(self.size)

    @property
    def _is_alone(self) -> bool:
        """Whether a job that runs here has no other beside it."""
        return len(self._running) == 1

    def _fill(self, jobs: Sequence[RunningJob], reserved: int) -> None:
        """Take in what a claim brought, and let go of the rest of its places; the lock must be held."""
        self._running.update((item.job.row.id, item) for item in jobs)
        self._reserved -= reserved
        if self._early:
            self._cancel_early(jobs)
        if self._refuses:
            for item in jobs:
                item.stop(JobInterruptedError)

    def _cancel_early(self, jobs: Sequence[RunningJob]) -> None:
        """Let jobs start with the sign to stop that was heard while their claim was on its way."""
        for item in jobs:
            if item.job.row.id in self._early:
                item.stop(JobCancelError)
        if not self._reserved:
            self._early.clear()

    def cancel(self, job_id: int) -> bool:
        """Tell one job to end, a coroutine by its cancellation, without raising inside a thread.

        Return whether it is here and did not know. One that is not here may be part of a claim on its way.
        """
        with self._lock:
            running = self._running.get(job_id)
            if running is None and self._reserved:
                self._early.add(job_id)
        return running is not None and running.stop(JobCancelError)

    def refuse_new(self) -> None:
        """Let no job begin that a claim on its way still brings: its row goes back as it was."""
        with self._lock:
            self._refuses = True
