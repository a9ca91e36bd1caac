"""Celery's crontab. A wall time that a clock change skips is left out, one that comes twice runs twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Any

from river_compat.celery.crontab_fields import Cronspec, WallTimes, check_any, check_dates, expand
from river_compat.celery.schedule_base import BaseSchedule, schedstate
from river_compat.celery.utils.time import ffwd, timezone
from river_core.schedule import next_instant

MICROSECOND = timedelta(microseconds=1)


class crontab(BaseSchedule):  # noqa: N801 - the name is Celery's
    """Runs at the minutes that match all five fields; day of month and weekday must both match.

    A field is a number, text such as `*/15`, `mon-fri` or `1-7,15`, or several numbers. Sunday is 0.
    """

    def __init__(
        self,
        minute: Cronspec = "*",
        hour: Cronspec = "*",
        day_of_week: Cronspec = "*",
        day_of_month: Cronspec = "*",
        month_of_year: Cronspec = "*",
        **kwargs: Any,
    ) -> None:
        """Read the fields, `nowfun=` and `app=`.

        Raises ValueError or ParseException for fields that cannot be, and for a date that never comes.
        """
        self._orig_minute = _field(minute)
        self._orig_hour = _field(hour)
        self._orig_day_of_week = _field(day_of_week)
        self._orig_day_of_month = _field(day_of_month)
        self._orig_month_of_year = _field(month_of_year)
        self._orig_kwargs = kwargs
        self.hour = self._expand_cronspec(self._orig_hour, 24)
        self.minute = self._expand_cronspec(self._orig_minute, 60)
        self.day_of_week = self._expand_cronspec(self._orig_day_of_week, 7)
        self.day_of_month = self._expand_cronspec(self._orig_day_of_month, 31, 1)
        self.month_of_year = self._expand_cronspec(self._orig_month_of_year, 12, 1)
        check_any(minute=self.minute, hour=self.hour, day_of_week=self.day_of_week)
        given = (self._orig_day_of_month, self._orig_month_of_year)
        check_dates(self.day_of_month, self.month_of_year, given)
        super().__init__(**kwargs)

    @classmethod
    def from_string(cls, crontab: str) -> crontab:
        """Read the usual five fields: minute, hour, day of month, month, weekday."""
        minute, hour, day_of_month, month_of_year, day_of_week = crontab.split()
        return cls(minute, hour, day_of_week, day_of_month, month_of_year)

    @staticmethod
    def _expand_cronspec(cronspec: Cronspec, max_: int, min_: int = 0) -> set[int]:
        return expand(cronspec, max_, min_)

    def _next(self, last_run_at: datetime, zone: tzinfo) -> datetime:
        walls = WallTimes(self.minute, self.hour, self.day_of_week, self.day_of_month, self.month_of_year)
        return next_instant(walls.after, self.maybe_make_aware(last_run_at), zone)

    def _zone(self, tz: str | tzinfo | None = None) -> tzinfo:
        return timezone.get_timezone(tz or self.tz)

    def remaining_delta(
        self, last_run_at: datetime, tz: str | tzinfo | None = None, ffwd: Any = ffwd
    ) -> tuple[datetime, Any, datetime]:
        """Return last run, what to set on it for the next one, and now, all in the schedule's zone."""
        zone = self._zone(tz)
        following = self._next(last_run_at, zone).astimezone(zone)
        fields = {name: getattr(following, name) for name in ("year", "month", "day", "hour", "minute")}
        last = self.maybe_make_aware(last_run_at).astimezone(zone)
        return last, ffwd(**fields, second=0, microsecond=0), self.elapsed_now().astimezone(zone)

    def remaining_estimate(self, last_run_at: datetime, ffwd: Any = ffwd) -> timedelta:
        """Return how long it is until the first match after `last_run_at`; negative when it has passed."""
        del ffwd
        now = self.elapsed_now().astimezone(timezone.utc)
        return self._next(last_run_at, self._zone()) - now

    def is_due(self, last_run_at: datetime) -> tuple[bool, float]:
        """Return whether a match has passed since `last_run_at`, and how many seconds the next one is away.

        With `beat_cron_starting_deadline` a match that passed more than so many seconds ago does not count.
        """
        state = self.due_or_wait(last_run_at)
        return schedstate(False, state.next) if state.is_due and self._is_stale(last_run_at) else state

    def _is_stale(self, last_run_at: datetime) -> bool:
        deadline = self.app.conf.beat_cron_starting_deadline
        if deadline is None or self.remaining_estimate(last_run_at) >= timedelta():
            return False
        now = self.elapsed_now().astimezone(timezone.utc)
        earliest = now - timedelta(seconds=deadline) - MICROSECOND
        return self._next(earliest, self._zone()) > now

    def __repr__(self) -> str:
        """Show the five fields."""
        return (
            f"<crontab: {self._orig_minute} {self._orig_hour} {self._orig_day_of_month} "
            f"{self._orig_month_of_year} {self._orig_day_of_week} (m/h/dM/MY/d)>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields as they were given."""
        fields = (
            self._orig_minute,
            self._orig_hour,
            self._orig_day_of_week,
            self._orig_day_of_month,
            self._orig_month_of_year,
        )
        return type(self), fields, self._orig_kwargs

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Take `nowfun` and `app` from a pickle."""
        super().__init__(**state)
        self._orig_kwargs = dict(state)

    def __eq__(self, other: object) -> bool:
        """Compare the sets of values, and the clocks."""
        if not isinstance(other, crontab):
            return NotImplemented
        same_days = (other.month_of_year, other.day_of_month, other.day_of_week) == (
            self.month_of_year,
            self.day_of_month,
            self.day_of_week,
        )
        return same_days and (other.hour, other.minute) == (self.hour, self.minute) and super().__eq__(other)

    __hash__ = None


def _field(given: Cronspec | None) -> Cronspec:
    """Return what was given; numbers that can be read only once are kept as a list."""
    if given is None:
        return "*"
    return list(given) if isinstance(given, Iterator) else given
