"""For how long results are kept: Celery's settings as retention of River's rows.

Rows that wait or run are never deleted, so a workflow cannot lose a part, however long it takes: what a
waiting step needs is handed over into its own row.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.expired import Kept

if TYPE_CHECKING:
    from river_compat.celery.app.settings import Settings

FAILED_SECONDS = 7 * 86_400.0


def seconds_kept(value: Any) -> float | None:
    """Return a setting as seconds; None, which 0 and None mean, is forever.

    Raises ImproperlyConfigured for what is no time, or a negative one.
    """
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if seconds is None:
        return None
    try:
        seconds = float(seconds)
    except (TypeError, ValueError):
        seconds = -1.0
    if not seconds >= 0:
        raise ImproperlyConfigured(
            f"result_expires and result_failure_expires are seconds, a timedelta, or None to keep results, "
            f"not {value!r}"
        )
    return seconds or None


def kept_results(conf: Settings) -> Kept:
    """Return for how long finished rows are kept.

    What succeeded, and what was revoked, for `result_expires`; what failed for `result_failure_expires`,
    and where that is not set for `result_expires` or, if nobody has set that either, for River's week.
    """
    ended = seconds_kept(conf.result_expires)
    if conf.result_failure_expires is not None:
        return Kept(ended, seconds_kept(conf.result_failure_expires))
    return Kept(ended, ended if conf.is_set("result_expires") else FAILED_SECONDS)
