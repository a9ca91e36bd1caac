"""The one source of the current time, so that tests can set it.

A process that runs jobs or sends them by a schedule follows its database's clock: what is due, expired or
late must not depend on which machine looks at it.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

TOLERANCE_SECONDS = 0.25
"""A machine's clock that differs less counts as right."""


class Clock(Protocol):
    """What services ask for the time."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...


class _Followed:
    """What this process knows of its database's clock: the time at zero of the monotonic clock."""

    zero: float | None = None
    """None while the machine's own clock is right, as far as is known."""


class SystemClock:
    """The machine's clock, or the database's where the two were seen to differ."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        zero = _Followed.zero
        return datetime.now(UTC) if zero is None else datetime.fromtimestamp(zero + time.monotonic(), UTC)


def given_time(clock: Clock) -> datetime | None:
    """Return the time for a statement: of a clock that a test set, else None, which the database fills in."""
    return None if isinstance(clock, SystemClock) else clock.now()


def now() -> datetime:
    """Return the current time as this process reckons it, aware, in UTC."""
    return SystemClock().now()


def learn(told: datetime, before: float, after: float) -> float:
    """Take the time that a database told between two moments of the monotonic clock.

    Returns how many seconds this machine's clock is ahead of it, 0 where it counts as right.
    """
    zero = told.timestamp() - (before + after) / 2
    ahead = time.time() - time.monotonic() - zero
    is_right = abs(ahead) <= TOLERANCE_SECONDS + (after - before) / 2
    _Followed.zero = None if is_right else zero
    return 0.0 if is_right else ahead


def followed() -> float | None:
    """Return what a child process needs for the same time: both have the monotonic clock of their machine."""
    return _Followed.zero


def follow(zero: float | None) -> None:
    """Reckon as the process does that returned this from `followed`."""
    _Followed.zero = zero
