"""Whether a tick that is late still counts: another beat may have sent it, or its `expires` has passed."""

from __future__ import annotations

import logging
import numbers
from datetime import datetime, timedelta, tzinfo
from typing import Any

from river_compat.celery.schedules import schedule
from river_compat.celery.timing import as_utc
from river_compat.celery.utils.time import maybe_make_aware

logger = logging.getLogger("celery.beat")


def ran_since(entry: Any, at: datetime, zone: tzinfo) -> bool:
    """Whether a run at `at`, by whichever beat, is the one that an entry is due for.

    It is unless the schedule falls due again after it. A schedule that cannot tell is left to the next turn.
    """
    if at <= maybe_make_aware(entry.last_run_at):
        return False
    try:
        due, _ = entry.schedule.is_due(at.astimezone(zone))
        return not due or _due_at(entry, at.astimezone(zone)) <= at
    except Exception:
        logger.exception("beat: the schedule of %r failed", entry.name)
        return True


def is_stale(entry: Any) -> bool:
    """Whether an entry that is due fell due longer ago than its option `expires` allows."""
    expires = (entry.options or {}).get("expires")
    if not expires:
        return False
    now = maybe_make_aware(entry.default_now())
    try:
        if not isinstance(expires, numbers.Real):
            return as_utc(expires) < now
        return _is_late(entry, now, timedelta(seconds=float(expires)))
    except Exception:  # noqa: BLE001 - what is wrong with it shows when the task is sent
        return False


def _is_late(entry: Any, now: datetime, allowed: timedelta) -> bool:
    """An interval counts from the last run; other schedules may have fallen due again in the meantime."""
    if _due_at(entry, entry.last_run_at) >= now - allowed:
        return False
    return isinstance(entry.schedule, schedule) or _due_at(entry, now - allowed) > now


def _due_at(entry: Any, last_run_at: datetime) -> datetime:
    left: timedelta = entry.schedule.remaining_estimate(last_run_at)
    return maybe_make_aware(entry.default_now()) + left
