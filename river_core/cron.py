"""The grammar of cron expressions, exactly as River's Go client reads them; pure, computes no time.

Five fields, a descriptor such as `@daily`, or `@every DURATION`, behind an optional `TZ=` or `CRON_TZ=`
prefix. What Go accepts is accepted and what it refuses is refused, so that one spec means the same
in every language of a fleet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from river_core.errors import ValidationError

DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
EVERY = "@every "
LONGEST_MONTHS = dict(zip(range(1, 13), (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_DURATION = re.compile(r"[-+]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+")
_DURATION_PART = re.compile(r"([0-9.]+)(ns|us|µs|μs|ms|s|m|h)")
_MICROSECOND, _SECOND = 10**3, 10**9
_NANOSECONDS = {
    "ns": 1,
    "us": _MICROSECOND,
    "µs": _MICROSECOND,
    "μs": _MICROSECOND,
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_LONGEST_NANOSECONDS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Field:
    """One of the five fields: its name for messages, its limits and the names of its values."""

    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()


MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY = Field("day of month", 1, 31)
MONTH = Field("month", 1, 12, _MONTHS)
WEEKDAY = Field("day of week", 0, 6, _WEEKDAYS)


@dataclass(frozen=True, slots=True)
class Values:
    """What a field allows. `starred` is set by `*` or `?`, also beside other values, not by `*/2`."""

    allowed: frozenset[int]
    starred: bool


@dataclass(frozen=True, slots=True)
class Fields:
    """A parsed expression of five fields."""

    minute: Values
    hour: Values
    day: Values
    month: Values
    weekday: Values

    @property
    def days_combine(self) -> bool:
        """Whether day of month and day of week must both match; without a star either of them does."""
        return self.day.starred or self.weekday.starred

    @property
    def is_possible(self) -> bool:
        """Whether there is any date that matches; 30 February is none."""
        if not (self.minute.allowed and self.hour.allowed and self.month.allowed):
            return False
        if self.days_combine and not self.weekday.allowed:
            return False
        by_weekday = not self.days_combine and bool(self.weekday.allowed)
        return by_weekday or any(
            day <= LONGEST_MONTHS[month] for month in self.month.allowed for day in self.day.allowed
        )


def split_zone(spec: str) -> tuple[str | None, str]:
    """Return the zone of a `TZ=` or `CRON_TZ=` prefix, or None, and the rest of the spec."""
    if not spec.startswith(("TZ=", "CRON_TZ=")):
        return None, spec
    prefix, space, rest = spec.partition(" ")
    if not space:
        raise _error(spec, "nothing stands behind the time zone")
    return prefix.partition("=")[2], rest.strip()


def parse_fields(spec: str) -> Fields:
    """Read five fields or a descriptor, without a zone; raises ValidationError naming what is wrong."""
    if spec.startswith("@"):
        if spec not in DESCRIPTORS:
            known = ", ".join((*DESCRIPTORS, "@every DURATION"))
            raise _error(spec, f"the descriptors are {known}")
        spec = DESCRIPTORS[spec]
    parts = spec.split()
    if len(parts) != 5:
        raise _error(spec, f"there must be 5 fields, not {len(parts)}")
    fields = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)
    return Fields(*(_values(spec, field, part) for field, part in zip(fields, parts, strict=True)))


def parse_every(spec: str) -> timedelta:
    """Read the duration of `@every DURATION`: whole seconds, at least one; raises ValidationError."""
    text = spec.removeprefix(EVERY)
    if text in ("0", "+0", "-0"):
        return timedelta(seconds=1)
    if not _DURATION.fullmatch(text):
        raise _error(spec, f"{text!r} is no duration such as 90s or 1h30m")
    parts = _DURATION_PART.findall(text)
    total = sum(Decimal(number) * _NANOSECONDS[unit] for number, unit in parts)
    if total > _LONGEST_NANOSECONDS:
        raise _error(spec, "the duration is longer than 292 years")
    seconds = 0 if text.startswith("-") else int(total) // _SECOND
    return timedelta(seconds=max(seconds, 1))


def _values(spec: str, field: Field, text: str) -> Values:
    ranges = [_range(spec, field, part) for part in text.split(",") if part]
    allowed = frozenset[int]().union(*(values.allowed for values in ranges))
    return Values(allowed, any(values.starred for values in ranges))


def _range(spec: str, field: Field, text: str) -> Values:
    bounds, *steps = text.split("/")
    low, *more = bounds.split("-")
    if len(steps) > 1:
        raise _error(spec, f"{field.name} {text!r} has too many slashes")
    step = _number(spec, field, steps[0]) if steps else 1
    if low in ("*", "?"):
        start, end = field.lowest, field.highest
    elif len(more) > 1:
        raise _error(spec, f"{field.name} {text!r} has too many hyphens")
    else:
        start = _number_or_name(spec, field, low)
        end = _number_or_name(spec, field, more[0]) if more else start
    if steps and not more:
        end = field.highest
    _check_range(spec, field, text, start, end, step)
    return Values(frozenset(range(start, end + 1, step)), low in ("*", "?") and step == 1)


def _check_range(spec: str, field: Field, text: str, start: int, end: int, step: int) -> None:
    if start < field.lowest or end > field.highest:
        raise _error(spec, f"{field.name} {text!r} is outside {field.lowest} to {field.highest}")
    if start > end:
        raise _error(spec, f"{field.name} {text!r} ends before it begins")
    if step == 0:
        raise _error(spec, f"{field.name} {text!r} has a step of 0")


def _number_or_name(spec: str, field: Field, text: str) -> int:
    lowered = text.lower()
    if lowered in field.names:
        return field.lowest + field.names.index(lowered)
    return _number(spec, field, text)


def _number(spec: str, field: Field, text: str) -> int:
    if not _NUMBER.fullmatch(text) or int(text) < 0:
        raise _error(spec, f"{field.name} {text!r} is no number" + (" or name" if field.names else ""))
    return int(text)


def _error(spec: str, reason: str) -> ValidationError:
    return ValidationError(f"cron expression {spec!r}: {reason}")
