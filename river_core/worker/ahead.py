"""How many jobs may be claimed beyond the free slots.

Nobody else can run a row that is claimed, so only queues of quick jobs may have some waiting: what their
recent run times would fill 50 ms with, and nothing as soon as a job took longer.
"""

from __future__ import annotations

from dataclasses import dataclass

WORK_SECONDS = 0.05
MAX_AHEAD = 500
MIN_SAMPLES = 20
WEIGHT = 0.05
SPARE_ATTEMPTS = 1
"""A job is claimed ahead only with more attempts than this left: one that must not run twice never is."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Places that a claim may fill: `free` slots, and `ahead` more for jobs that may wait behind them."""

    free: int
    ahead: int

    @property
    def total(self) -> int:
        """How many rows may be claimed."""
        return self.free + self.ahead


class AheadBudget:
    """Learns the run time of jobs. Written by many threads without a lock: a lost sample is no harm."""

    __slots__ = ("_samples", "_typical")

    def __init__(self) -> None:
        """Know nothing, so allow nothing."""
        self._samples = 0
        self._typical = 0.0

    def ran(self, seconds: float) -> None:
        """Take the run time of one job; a slow one ends reading ahead until many quick ones have run."""
        if seconds > WORK_SECONDS:
            self._samples = 0
            self._typical = 0.0
        self._samples += 1
        self._typical += (seconds - self._typical) * WEIGHT

    def jobs(self, slots: int) -> int:
        """Return how many jobs may wait behind `slots` running ones."""
        if self._samples < MIN_SAMPLES:
            return 0
        return min(int(slots * WORK_SECONDS / max(self._typical, 1e-5)), MAX_AHEAD)
