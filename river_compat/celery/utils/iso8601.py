"""Reads the subset of ISO 8601 that Celery's messages use (`celery.utils.iso8601`)."""

from __future__ import annotations

import re
import warnings
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from river_compat.celery.exceptions import CPendingDeprecationWarning
from river_compat.celery.refused_names import refusing

__all__ = ["parse_iso8601"]

_DATE = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    r"(?:.(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?"
    r"(?P<zone>Z|[+-]\d\d:\d\d)?)?)?)?"
)


def parse_iso8601(datestring: str) -> datetime:
    """Return the time that a text names; a zone that cannot be read counts as none.

    Raises ValueError for text that is no date, TypeError for a date without a month and a day. Use
    `datetime.fromisoformat` in new code: like Celery's, this one warns that it will go.
    """
    warnings.warn(
        CPendingDeprecationWarning(
            "parse_iso8601 is scheduled for deprecation; use datetime.fromisoformat instead"
        ),
        stacklevel=2,
    )
    match = _DATE.match(datestring)
    if match is None:
        raise ValueError(f"unable to parse date string {datestring!r}")
    date = [match["year"], match["month"], match["day"]]
    if None in date:
        raise TypeError(f"{datestring!r} has no month and day")
    microseconds = int(f"{match['fraction'] or 0:0<6}"[:6])
    fields = [int(part) for part in date] + [int(match[name] or 0) for name in ("hour", "minute", "second")]
    moment = datetime(*fields, microsecond=microseconds, tzinfo=UTC)  # type: ignore[misc,arg-type]
    return moment.replace(tzinfo=_zone(match["zone"]))


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text == "Z":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))
    return timezone(-offset if text[0] == "-" else offset)


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
