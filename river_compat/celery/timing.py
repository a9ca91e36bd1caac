"""Countdown, eta and expiry: from what callers give to times in UTC and to the message's texts.

A naive time is UTC, whatever the application's time zone, as in Celery 5.
"""

from __future__ import annotations

import logging
import numbers
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from river_core.job import JobState

SHORT_DELAY = timedelta(seconds=5)
LOWEST_SECONDS = -0x80000000

logger = logging.getLogger(__name__)


def as_utc(moment: datetime | str) -> datetime:
    """Return a datetime or ISO text as an aware time in UTC; raises ValueError for other text."""
    parsed = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


def eta_text(countdown: Any, eta: Any, zone: tzinfo, now: datetime) -> str | None:
    """Return the message's `eta`; a countdown other than 0 and None beats an eta.

    Raises ValueError or TypeError for what is no time.
    """
    if countdown:
        return _after("countdown", countdown, zone, now)
    if not eta:
        return None
    as_utc(eta)
    return eta if isinstance(eta, str) else str(eta.isoformat())


def expires_text(expires: Any, zone: tzinfo, now: datetime, task_id: str) -> str | None:
    """Return the message's `expires` for seconds, a datetime or ISO text. A past time is logged."""
    if isinstance(expires, numbers.Real):
        text = _after("expires", expires, zone, now)
    elif not expires:
        return None
    else:
        text = expires if isinstance(expires, str) else str(expires.isoformat())
    if as_utc(text) < now:
        logger.warning("task %s expired before it was sent; it will not run", task_id)
    return text


def _after(what: str, seconds: Any, zone: tzinfo, now: datetime) -> str:
    if seconds < LOWEST_SECONDS:
        raise ValueError(f"{what}={seconds!r} is out of range")
    return (now + timedelta(seconds=float(seconds))).astimezone(zone).isoformat()


def due(eta: str | None, now: datetime) -> tuple[JobState, datetime | None]:
    """Return state and `scheduled_at` of a new row.

    What is due within 5 seconds is `available` with its time, since River's scheduler looks only that
    often. A time of None means at once.
    """
    if eta is None:
        return JobState.AVAILABLE, None
    moment = as_utc(eta)
    if moment <= now:
        return JobState.AVAILABLE, None
    return (JobState.AVAILABLE if moment - now <= SHORT_DELAY else JobState.SCHEDULED), moment


def is_expired(expires: str | None, now: datetime) -> bool:
    """Whether a stored expiry has passed."""
    return expires is not None and now > as_utc(expires)
