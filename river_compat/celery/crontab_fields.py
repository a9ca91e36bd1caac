"""The fields of Celery's crontab: what their text means, and which wall times match."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time

from river_compat.celery.utils.time import weekday, yearmonth

Cronspec = int | str | Iterable[int]

LONGEST_MONTHS = {month: monthrange(2024, month)[1] for month in range(1, 13)}
MAX_YEARS = 41
"""A 29th of February on a given weekday may be 40 years away."""


class ParseException(Exception):  # noqa: N818 - the name is Celery's
    """The text of a field cannot be read."""


class crontab_parser:  # noqa: N801 - the name is Celery's
    """Reads one field: numbers or names, ranges (which may wrap around), steps, and lists of them.

    >>> sorted(crontab_parser(24).parse("*/6,22-1"))
    [0, 1, 6, 12, 18, 22, 23]
    """

    ParseException = ParseException

    _range = r"(\w+?)-(\w+)"
    _steps = r"/(\w+)?"
    _star = r"\*"

    def __init__(self, max_: int = 60, min_: int = 0) -> None:
        """Allow `max_` values from `min_` on."""
        self.max_ = max_
        self.min_ = min_
        self.pats: tuple[tuple[re.Pattern[str], Callable[..., list[int]]], ...] = (
            (re.compile(self._range + self._steps), self._range_steps),
            (re.compile(self._range), self._expand_range),
            (re.compile(self._star + self._steps), self._star_steps),
            (re.compile(f"^{self._star}$"), self._expand_star),
        )

    def parse(self, spec: str) -> set[int]:
        """Return the values; raises ParseException or ValueError."""
        values: set[int] = set()
        for part in spec.split(","):
            if not part:
                raise self.ParseException(f"crontab field {spec!r} has an empty part")
            values.update(self._parse_part(part))
        return values

    def _parse_part(self, part: str) -> list[int]:
        for pattern, expand in self.pats:
            if (match := pattern.match(part)) is not None:
                return expand(match.groups())
        return self._expand_range((part,))

    def _range_steps(self, tokens: tuple[str, ...]) -> list[int]:
        if len(tokens) != 3 or not tokens[2]:
            raise self.ParseException("no step stands behind the slash")
        return self._expand_range(tokens[:2])[:: int(tokens[2])]

    def _star_steps(self, tokens: tuple[str, ...]) -> list[int]:
        if not tokens or not tokens[0]:
            raise self.ParseException("no step stands behind the slash")
        return self._expand_star()[:: int(tokens[0])]

    def _expand_range(self, tokens: tuple[str, ...]) -> list[int]:
        first, last = self._expand_number(tokens[0]), self._expand_number(tokens[-1])
        if last >= first:
            return list(range(first, last + 1))
        return [*range(first, self.min_ + self.max_), *range(self.min_, last + 1)]

    def _expand_star(self, *_: object) -> list[int]:
        return list(range(self.min_, self.max_ + self.min_))

    def _expand_number(self, text: str) -> int:
        if text.startswith("-"):
            raise self.ParseException(f"negative numbers such as {text!r} are not supported")
        number = _number(text)
        if not self.min_ <= number < self.min_ + self.max_:
            last = self.min_ + self.max_ - 1
            raise ValueError(f"{number} is outside {self.min_} to {last} in a crontab field")
        return number


def _number(text: str) -> int:
    for read in (int, yearmonth, weekday):
        try:
            return read(text)
        except (ValueError, KeyError):
            continue
    raise ValueError(f"{text!r} is no number and no name of a month or weekday")


def expand(spec: Cronspec, count: int, lowest: int = 0) -> set[int]:
    """Return the values of a field that is given as a number, text or numbers.

    Raises TypeError for anything else, ValueError for values outside of the field.
    """
    if isinstance(spec, int):
        values = {spec}
    elif isinstance(spec, str):
        values = crontab_parser(count, lowest).parse(spec)
    elif isinstance(spec, Iterable):
        values = set(spec)
    else:
        raise TypeError(f"a crontab field is a number, text or several numbers, not {type(spec)!r}")
    for number in values:
        if not lowest <= number < count + lowest:
            raise ValueError(
                f"Invalid crontab pattern. Valid range is {lowest}-{count + lowest - 1}, {number!r} was found"
            )
    return values


@dataclass(frozen=True, slots=True)
class WallTimes:
    """The five sets of values. A day matches when its date and its weekday both do, unlike in cron."""

    minutes: Iterable[int]
    hours: Iterable[int]
    weekdays: Iterable[int]
    days: Iterable[int]
    months: Iterable[int]

    def after(self, wall: datetime) -> Iterator[datetime]:
        """Give the wall times that match from the minute of `wall` on, without end.

        Raises RuntimeError when no date of the next 40 years matches.
        """
        first = wall.replace(second=0, microsecond=0)
        hours, minutes = sorted(self.hours), sorted(self.minutes)
        for day in self._dates(first.date()):
            for hour in hours:
                if day == first.date() and hour < first.hour:
                    continue
                for minute in minutes:
                    if (match := datetime.combine(day, time(hour, minute))) >= first:
                        yield match

    def _dates(self, start: date) -> Iterator[date]:
        found_until = start
        for year in range(start.year, date.max.year + 1):
            if year - found_until.year > MAX_YEARS:
                raise RuntimeError(
                    "no date matches the crontab: its day of month and month exclude each other"
                )
            for day in self._dates_of(year):
                if day >= start:
                    found_until = day
                    yield day

    def _dates_of(self, year: int) -> Iterator[date]:
        for month in sorted(self.months):
            last = monthrange(year, month)[1]
            for day in sorted(self.days):
                if day <= last and (match := date(year, month, day)).isoweekday() % 7 in self.weekdays:
                    yield match


def check_any(**fields: set[int]) -> None:
    """Raise ValueError for a field that allows no value."""
    for name, values in fields.items():
        if not values:
            raise ValueError(f"the crontab's {name} allows no value, so it never runs")


def check_dates(days: Iterable[int], months: Iterable[int], given: tuple[object, object]) -> None:
    """Raise ValueError when no month has one of the days, showing what was `given`."""
    if not any(day <= LONGEST_MONTHS[month] for month in months for day in days):
        day_of_month, month_of_year = given
        raise ValueError(
            f"Invalid crontab: day_of_month {day_of_month!r} never occurs in month_of_year {month_of_year!r}."
        )
