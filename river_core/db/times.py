"""Times as the two databases give them: aware objects from Postgres, text from SQLite."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from river_core.errors import JobRowDecodeError

UNREADABLE_TIME = datetime(1, 1, 1, tzinfo=UTC)

_WRITTEN_TEXT_LENGTH = len("2026-08-07 14:32:57.123")
_FOREIGN_TEXT = re.compile(
    r"(?P<moment>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?"
    r" ?(?:Z|(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?(?: \S+)?(?: m=\S+)?",
    re.ASCII,
)


def decode_time(value: datetime | str) -> datetime:
    """Return an aware time in UTC; raises JobRowDecodeError for text that no River client writes.

    Besides the 23 characters that River writes today it takes what older Go clients left on SQLite:
    fewer or more digits, an offset, a zone's name and Go's monotonic reading.
    """
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str):
        raise JobRowDecodeError(f"the time {value!r} is no text")
    if len(value) == _WRITTEN_TEXT_LENGTH:
        try:
            return datetime.fromisoformat(value + "Z")
        except ValueError:
            pass
    return _decode_foreign(value)


def decode_time_or_none(value: datetime | str | None) -> datetime | None:
    """Return an aware time in UTC, or None for NULL."""
    return None if value is None else decode_time(value)


def readable_time(value: datetime | str | None) -> datetime | None:
    """Return an aware time in UTC, None for NULL, and the first of all times for what cannot be read."""
    try:
        return decode_time_or_none(value)
    except JobRowDecodeError:
        return UNREADABLE_TIME


def _decode_foreign(text: str) -> datetime:
    match = _FOREIGN_TEXT.fullmatch(text)
    try:
        if match is None:
            raise ValueError("the form is unknown")
        moment = datetime.fromisoformat(match["moment"]).replace(tzinfo=_zone(match))
        microsecond = int((match["fraction"] or "").ljust(9, "0")[:6])
        return moment.replace(microsecond=microsecond).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise JobRowDecodeError(f"the time {text!r} cannot be read: {error}") from error


def _zone(match: re.Match[str]) -> timezone:
    if match["sign"] is None:
        return UTC
    offset = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"]))
    return timezone(-offset if match["sign"] == "-" else offset)
