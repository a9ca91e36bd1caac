"""The order in which a scheduler looks at its entries: a heap of times at which each is to be asked."""

from __future__ import annotations

import logging
from calendar import timegm
from typing import Any, NamedTuple

from river_compat.celery.utils.time import humanize_seconds, maybe_make_aware

DRIFT = -0.010
"""Entries are asked so much earlier, to be in time for the second."""

logger = logging.getLogger("celery.beat")


class event_t(NamedTuple):  # noqa: N801 - the name is Celery's
    """An entry and when to ask whether it is due, as seconds since the epoch."""

    time: float
    priority: int
    entry: Any


def adjust(n: Any, drift: float = DRIFT) -> Any:
    """Return a number of seconds, a little less when it is more than nothing."""
    return n + drift if n and n > 0 else n


def when(entry: Any, seconds: Any, mktime: Any = timegm) -> float:
    """Return the time, as seconds since the epoch by the entry's clock, in so many seconds."""
    now = maybe_make_aware(entry.default_now())
    return float(mktime(now.utctimetuple()) + now.microsecond / 1e6 + (adjust(seconds) or 0))


def asked(is_due: Any, name: object, max_interval: float) -> tuple[bool, Any]:
    """Return what `is_due()` answers; an entry that raises is logged, and asked again later."""
    try:
        due, seconds = is_due()
    except Exception:
        logger.exception(
            "beat: Cannot calculate the next run of %r, trying again in %s.",
            name,
            humanize_seconds(max_interval),
        )
        return False, max_interval
    return due, seconds


def schedules_equal(old: Any, new: Any) -> bool:
    """Whether two schedules have the same entries, apart from their runs."""
    if old is None or new is None:
        return old is new
    if set(old) != set(new):
        return False
    return all(new.get(name) == entry for name, entry in old.items())
