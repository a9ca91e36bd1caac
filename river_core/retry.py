"""River's default retry policy, as arithmetic (River: DefaultClientRetryPolicy)."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from river_core.job import JobRow

MAX_RETRY_SECONDS = 9223372036.854775807


class RetryPolicy(Protocol):
    """When a job that failed is to run again."""

    def next_retry(self, job: JobRow, now: datetime) -> datetime:
        """Return an aware time, not before `now`."""
        ...


def retry_seconds(errors: int, uniform: Callable[[float, float], float] = random.uniform) -> float:
    """Return the delay in seconds after a failure of a job with `errors` stored errors.

    The base is (errors + 1) to the fourth power with 10% jitter either way, capped at 2^63
    nanoseconds, where there is no jitter.
    """
    base = float(errors + 1) ** 4
    if base >= MAX_RETRY_SECONDS:
        return MAX_RETRY_SECONDS
    return min(base * uniform(0.9, 1.1), MAX_RETRY_SECONDS)


class DefaultRetryPolicy:
    """Fourth power of the number of errors, with jitter (River: DefaultClientRetryPolicy)."""

    def next_retry(self, job: JobRow, now: datetime) -> datetime:
        """Return `now` plus `retry_seconds` of the errors stored before this attempt's."""
        return now + timedelta(seconds=retry_seconds(len(job.errors)))
