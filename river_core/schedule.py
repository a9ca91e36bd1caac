"""When a periodic job runs next: intervals, cron expressions, or a rule of the user's own.

A schedule is asked from a time and answers with a later one; it keeps no state. Go's rules for clock
changes hold: a local time that does not exist is left out, one that comes twice runs twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from croniter import croniter

from river_core.cron import EVERY, Fields, Values, parse_every, parse_fields, split_zone
from river_core.errors import ValidationError

FOLD_PROBE = timedelta(hours=3)
"""How far ahead a clock that is set back is looked for; no zone sets it back by more nowadays."""

LATEST_STEPS = 10_000
LATEST_FIRST_WINDOW = timedelta(minutes=2)


@runtime_checkable
class Schedule(Protocol):
    """What says when a periodic job runs next (River: PeriodicSchedule)."""

    def next(self, moment: datetime) -> datetime:
        """Return the first time after `moment`; both are aware. A result that is not later is refused."""
        ...


class IntervalSchedule:
    """Runs every so many seconds, counted from the time before (River: PeriodicInterval)."""

    def __init__(self, interval: float | timedelta) -> None:
        """Take seconds or a timedelta; raises ValidationError unless it is more than nothing."""
        seconds = interval.total_seconds() if isinstance(interval, timedelta) else interval
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds):
            raise ValidationError(f"an interval is a number of seconds or a timedelta, not {interval!r}")
        try:
            self.interval = timedelta(seconds=seconds)
        except OverflowError as error:
            raise ValidationError(f"an interval of {seconds!r} seconds is too long") from error
        if self.interval <= timedelta():
            raise ValidationError(f"an interval must be longer than 0 seconds, not {interval!r}")

    def next(self, moment: datetime) -> datetime:
        """Return `moment` plus the interval, in UTC."""
        return moment.astimezone(UTC) + self.interval

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        """Return the last of `after` plus 1, 2, 3, ... intervals that is not behind `until`."""
        steps = (until - after) // self.interval
        return after.astimezone(UTC) + steps * self.interval if steps > 0 else None


class NeverSchedule:
    """Never runs by itself; for a job that only runs on start (River: NeverSchedule)."""

    def next(self, moment: datetime) -> datetime:
        """Return the last time there is."""
        return datetime.max.replace(tzinfo=UTC)

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        """Return None."""
        return None


class CronSchedule:
    """Runs by a cron expression, in Go's grammar (River: cron.ParseStandard; for Ruby: PeriodicCron).

    >>> CronSchedule("0 9 * * 1-5", timezone="America/New_York").next(datetime(2026, 3, 6, 15, tzinfo=UTC))
    datetime.datetime(2026, 3, 9, 13, 0, tzinfo=datetime.timezone.utc)
    """

    def __init__(self, spec: str, *, timezone: str | tzinfo | None = None) -> None:
        """Read an expression; a `TZ=` or `CRON_TZ=` prefix goes before `timezone`.

        Without either the zone of the time asked from counts, which is UTC for periodic jobs. Raises
        ValidationError for what Go refuses, for an unknown zone, and for a date that never comes.
        """
        if not isinstance(spec, str) or not spec:
            raise ValidationError(f"a cron expression is text such as '0 9 * * 1-5', not {spec!r}")
        self.spec = spec
        prefix, rest = split_zone(spec)
        self.zone = _zone(spec, timezone if prefix is None else prefix or "UTC")
        self.every = parse_every(rest) if rest.startswith(EVERY) else None
        self._fields = None if self.every is not None else _possible(spec, parse_fields(rest))
        self._expression = "" if self._fields is None else _expression(self._fields)

    def __repr__(self) -> str:
        """Show the expression."""
        return f"CronSchedule({self.spec!r})"

    def next(self, moment: datetime) -> datetime:
        """Return the first matching time after `moment`, in UTC."""
        if self.every is not None:
            return moment.astimezone(UTC).replace(microsecond=0) + self.every
        return self._next_match(moment)

    def latest(self, after: datetime, until: datetime) -> datetime | None:
        """Return the last time after `after` and not behind `until`, or None."""
        if self.every is not None:
            return IntervalSchedule(self.every).latest(after.replace(microsecond=0), until)
        window = LATEST_FIRST_WINDOW
        while True:
            base = max(after, until - window)
            found = _last_step(self, base, until, LATEST_STEPS)
            if found is not None or base == after:
                return found
            window *= 2

    def _next_match(self, moment: datetime) -> datetime:
        def walls_after(wall: datetime) -> Iterator[datetime]:
            walls = croniter(self._expression, wall)
            while True:
                yield walls.get_next(datetime)

        return next_instant(walls_after, moment, self.zone or moment.tzinfo or UTC)


def next_instant(
    walls_after: Callable[[datetime], Iterator[datetime]], moment: datetime, zone: tzinfo
) -> datetime:
    """Return, in UTC, when a clock of a zone first shows one of some wall times after `moment`.

    `walls_after` gives the naive wall times behind a given one in order, without end. Walking starts
    earlier when the clock is about to be set back: wall times come again then.
    """
    start = moment.astimezone(UTC)
    local = start.astimezone(zone)
    set_back = _offset(local) - _offset((start + FOLD_PROBE).astimezone(zone))
    best: datetime | None = None
    for wall in walls_after(local.replace(tzinfo=None, microsecond=0, fold=0) - max(set_back, timedelta())):
        found = instants(wall, zone)
        if best is not None and (not found or found[0] >= best):
            return best
        later = [instant for instant in found if instant > start]
        if later and set_back <= timedelta():
            return later[0]
        best = min([*later, best] if best else later, default=None)
    raise ValidationError(f"no wall time follows {moment}")


def as_next(schedule: Schedule | Callable[[datetime], datetime]) -> Callable[[datetime], datetime]:
    """Return what computes the next time: a schedule's `next`, or the function itself.

    What it returns raises ValidationError for an answer that is no later aware time.
    """
    compute = schedule.next if isinstance(schedule, Schedule) else schedule
    if not callable(compute):
        raise ValidationError(
            f"a schedule has next(time), or is a function of a time; {schedule!r} is neither"
        )

    def checked(moment: datetime) -> datetime:
        answer = compute(moment)
        if not isinstance(answer, datetime) or answer.tzinfo is None:
            raise ValidationError(f"{schedule!r} must return an aware datetime, not {answer!r}")
        if answer <= moment:
            raise ValidationError(f"{schedule!r} must return a time after {moment}, not {answer}")
        return answer.astimezone(UTC)

    return checked


def latest(
    schedule: Schedule | Callable[[datetime], datetime], after: datetime, until: datetime
) -> datetime | None:
    """Return the last time after `after` and not behind `until`, or None; counts as the schedule does.

    A schedule of the user's own is asked step by step, 10,000 times at most; then None is returned.
    """
    own = getattr(schedule, "latest", None)
    if own is not None:
        found: datetime | None = own(after, until)
        return found
    return _last_step(schedule, after, until, LATEST_STEPS)


def _last_step(
    schedule: Schedule | Callable[[datetime], datetime], after: datetime, until: datetime, steps: int
) -> datetime | None:
    following = as_next(schedule)
    last, moment = None, following(after)
    while moment <= until:
        last, moment = moment, following(moment)
        steps -= 1
        if steps == 0:
            return None
    return last


def _zone(spec: str, given: str | tzinfo | None) -> tzinfo | None:
    if given is None or isinstance(given, tzinfo):
        return given
    if given in ("Local", "UTC"):
        return None if given == "Local" else UTC
    try:
        return ZoneInfo(given)
    except (OSError, ValueError, LookupError) as error:
        raise ValidationError(f"cron expression {spec!r}: the time zone {given!r} is unknown") from error


def _possible(spec: str, fields: Fields) -> Fields:
    if not fields.is_possible:
        raise ValidationError(f"cron expression {spec!r} never matches: no such date exists")
    return fields


def _expression(fields: Fields) -> str:
    """Write the fields as plain lists, which croniter and Go understand alike."""
    day, weekday = _list(fields.day, 31), _list(fields.weekday, 7)
    if not fields.days_combine and "*" in (day, weekday):
        day = weekday = "*"  # either matches, and one of them always does
    day, weekday = day or "*", weekday or "*"  # Go takes a list without values; then the other one decides
    return f"{_list(fields.minute, 60)} {_list(fields.hour, 24)} {day} {_list(fields.month, 12)} {weekday}"


def _list(values: Values, full: int) -> str:
    if len(values.allowed) == full:
        return "*"
    return ",".join(map(str, sorted(values.allowed)))


def instants(wall: datetime, zone: tzinfo) -> list[datetime]:
    """Return the instants at which clocks of a zone show a time: one, two, or none in a gap."""
    found = []
    for fold in (0, 1):
        instant = wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)
        exists = instant.astimezone(zone).replace(tzinfo=None, fold=0) == wall
        if exists and instant not in found:
            found.append(instant)
    return found


def _offset(moment: datetime) -> timedelta:
    return moment.utcoffset() or timedelta()
