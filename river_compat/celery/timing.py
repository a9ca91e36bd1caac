"""Countdown, eta and expiry: from what callers give to times in UTC and to the message's texts.

A naive time is UTC, whatever the application's time zone, as in Celery 5.
"""

from __future__ import annotations

import logging
import math
import numbers
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
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

    Raises TypeError, ValueError or OverflowError for what is no time, naming the option.
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
    number = checked_seconds(what, seconds)
    if number < LOWEST_SECONDS:
        raise ValueError(f"{what}={seconds!r} is out of range")
    try:
        return (now + timedelta(seconds=number)).astimezone(zone).isoformat()
    except OverflowError:
        raise OverflowError(f"{what}={seconds!r} is out of range: no calendar reaches so far") from None


def checked_seconds(what: str, seconds: Any) -> float:
    """Return the seconds of an option of a call, with the classes of errors that Celery raises.

    Raises TypeError for what is no number, ValueError for NaN, and OverflowError for what is without end.
    """
    if not isinstance(seconds, numbers.Real | Decimal):
        raise TypeError(f"{what} must be a number of seconds, not {seconds!r}")
    number = float(seconds)
    if math.isnan(number):
        raise ValueError(f"{what}={seconds!r} is no number of seconds")
    if math.isinf(number):
        raise OverflowError(f"{what}={seconds!r} is out of range")
    return number


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
