"""Durations and deadlines (`celery.utils.time`)."""

from __future__ import annotations

import numbers
import time
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from river_compat.celery.refused_names import refusing
from river_compat.celery.retries import get_exponential_backoff_interval
from river_compat.celery.utils.zones import (
    LocalTimezone,
    after_gap,
    is_naive,
    localize,
    make_aware,
    maybe_make_aware,
    occurrences,
    timezone,
    to_utc,
)
from river_core import clock

__all__ = [
    "LocalTimezone",
    "add_seconds_to_datetime",
    "adjust_timestamp",
    "delta_resolution",
    "ffwd",
    "get_exponential_backoff_interval",
    "humanize_seconds",
    "is_naive",
    "localize",
    "make_aware",
    "maybe_iso8601",
    "maybe_make_aware",
    "maybe_timedelta",
    "rate",
    "remaining",
    "subtract_datetimes",
    "timezone",
    "to_utc",
    "utcoffset",
    "weekday",
    "yearmonth",
]

WEEKDAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
YEARMONTHS = {name: number for number, name in enumerate(_MONTHS, 1)}
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_SIXTIES = {"s": 0, "m": 1, "h": 2}
UNITS = (("day", 86400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))


def maybe_timedelta(delta: Any) -> Any:
    """Return a number of seconds as a timedelta, anything else as it is."""
    return timedelta(seconds=float(delta)) if isinstance(delta, numbers.Real) else delta


def add_seconds_to_datetime(dt: datetime, seconds: float) -> datetime:
    """Return the time when so many seconds have passed, whatever the clock was changed by."""
    delta = timedelta(seconds=seconds)
    return dt + delta if is_naive(dt) else (dt.astimezone(UTC) + delta).astimezone(dt.tzinfo)


def subtract_datetimes(end: datetime, start: datetime) -> timedelta:
    """Return how much time passes from `start` to `end`; naive times are UTC."""
    return maybe_make_aware(end).astimezone(UTC) - maybe_make_aware(start).astimezone(UTC)


def delta_resolution(dt: datetime, delta: timedelta) -> datetime:
    """Round a time down to the day, hour or minute, whichever is the largest that fits into `delta`."""
    if delta >= DAY:
        return dt.replace(hour=0, minute=0, second=0, microsecond=0)
    if delta >= HOUR:
        return dt.replace(minute=0, second=0, microsecond=0)
    return dt.replace(second=0, microsecond=0) if delta >= MINUTE else dt


def remaining(
    start: datetime, ends_in: timedelta | ffwd, now: datetime | None = None, relative: bool = False
) -> timedelta:
    """Return the time from `now` until `ends_in` after `start`; negative when it has passed.

    A relative end is rounded down to the day, hour or minute of the wall clock, but stays behind `start`.
    """
    now = now or clock.now()
    return _end(start, ends_in, relative).astimezone(UTC) - now.astimezone(UTC)


def _end(start: datetime, ends_in: timedelta | ffwd, relative: bool) -> datetime:
    if not isinstance(ends_in, timedelta):
        return cast(datetime, start + ends_in)
    if not relative:
        return add_seconds_to_datetime(start, ends_in.total_seconds())
    if ends_in >= DAY:
        return _end_of_days(start, ends_in)
    if ends_in >= MINUTE:
        return _end_of_units(start, ends_in)
    return add_seconds_to_datetime(start, ends_in.total_seconds()).astimezone(UTC).replace(microsecond=0)


def _end_of_days(start: datetime, days: timedelta) -> datetime:
    """Return the midnight that begins the day so many calendar days later."""
    end = start + days
    later = [moment for moment in _moments(delta_resolution(end, days)) if moment > start.astimezone(UTC)]
    return min(later, default=end)


def _end_of_units(start: datetime, delta: timedelta) -> datetime:
    """Return the last full hour, or minute, at or before the end, else the next one after `start`."""
    begin = start.astimezone(UTC)
    end = begin + delta
    boundary = delta_resolution(end.astimezone(start.tzinfo), delta)
    following = boundary + (HOUR if delta >= HOUR else MINUTE)
    walls = (boundary, following, delta_resolution(start + delta, delta))
    later = [moment for wall in walls for moment in _moments(wall) if moment > begin]
    return max((moment for moment in later if moment <= end), default=min(later, default=end))


def _moments(wall: datetime) -> list[datetime]:
    return occurrences(wall) or [after_gap(wall)]


class ffwd:  # noqa: N801 - the name is Celery's
    """Fields to set on a date or time that it is added to; a day that the month lacks is its last one."""

    def __init__(
        self,
        year: int | None = None,
        month: int | None = None,
        weeks: int = 0,
        weekday: int | None = None,
        day: int | None = None,
        hour: int | None = None,
        minute: int | None = None,
        second: int | None = None,
        microsecond: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Take the fields; `weekday` counts from Monday 0 and is looked for from the resulting day on."""
        del kwargs
        self.year, self.month, self.weeks, self.weekday, self.day = year, month, weeks, weekday, day
        self.hour, self.minute, self.second, self.microsecond = hour, minute, second, microsecond
        self.days = weeks * 7

    def __repr__(self) -> str:
        """Show the fields that are set."""
        fields = self._fields("weeks", "weekday")
        return f"ffwd({', '.join(f'{name}={value!r}' for name, value in fields.items())})"

    def __radd__(self, other: Any) -> Any:
        """Return `other`, a date or time, with the fields set."""
        if not isinstance(other, date):
            return NotImplemented
        year, month = self.year or other.year, self.month or other.month
        day = min(monthrange(year, month)[1], self.day or other.day)
        result = other.replace(**{**self._fields(), "year": year, "month": month, "day": day})
        ahead = 0 if self.weekday is None else (self.weekday - result.weekday()) % 7
        return result + timedelta(days=self.days + ahead)

    def _fields(self, *more: str) -> dict[str, Any]:
        names = ("year", "month", "day", "hour", "minute", "second", "microsecond", *more)
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def rate(r: Any) -> float:
    """Return tasks a second for a number or text such as `100/m`; 0 for no limit."""
    if not isinstance(r, str):
        return r or 0
    count, _, unit = r.partition("/")
    result = float(count or 0)
    for _ in range(_SIXTIES[unit or "s"]):
        result /= 60
    return result


def weekday(name: str) -> int:
    """Return the number of a weekday, Sunday 0; raises KeyError for another name."""
    return _number(WEEKDAYS, name)


def yearmonth(name: str) -> int:
    """Return the number of a month, January 1; raises KeyError for another name."""
    return _number(YEARMONTHS, name)


def _number(numbers_by_name: dict[str, int], name: str) -> int:
    number = numbers_by_name.get(name[:3].lower())
    if number is None:
        raise KeyError(name)
    return number


def humanize_seconds(
    secs: float, prefix: str = "", sep: str = "", now: str = "now", microseconds: bool = False
) -> str:
    """Return seconds as text in the largest unit that fits, `now` for less than one."""
    seconds = round(float(secs), 2)
    for unit, size in UNITS:
        if seconds >= size:
            count = seconds / size
            return f"{prefix}{sep}{count:.2f} {unit}{'' if count == 1 else 's'}"
    return f"{prefix}{sep}{seconds:.2f} seconds" if microseconds and seconds > 0 else now


def maybe_iso8601(dt: datetime | str | None) -> datetime | None:
    """Return ISO text as a time; a time as it is, None for nothing."""
    if not dt:
        return None
    return dt if isinstance(dt, datetime) else datetime.fromisoformat(dt)


def utcoffset(time: Any = time, localtime: Callable[..., Any] = time.localtime) -> float:
    """Return by how many hours this machine's clock is behind UTC now."""
    seconds = time.altzone if localtime().tm_isdst else time.timezone
    return float(seconds) / 3600


def adjust_timestamp(ts: float, offset: float, here: Callable[..., float] = utcoffset) -> float:
    """Return a timestamp of a machine that is `offset` hours behind UTC as one of this machine."""
    return ts - (offset - here()) * 3600


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
