"""Reading the times that River's clients have written on SQLite."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from river_core.db.times import decode_time, decode_time_or_none
from river_core.errors import JobRowDecodeError

SECOND = datetime(2026, 8, 7, 14, 32, 57, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "microsecond"),
    [
        ("2026-08-07 14:32:57.123", 123_000),
        ("2026-08-07 14:32:57", 0),
        ("2026-08-07T14:32:57Z", 0),
        ("2026-08-07 14:32:57.1", 100_000),
        ("2026-08-07 14:32:57.12", 120_000),
        ("2026-08-07 14:32:57.123456", 123_456),
        ("2026-08-07T14:32:57.123456789Z", 123_456),
        ("2026-08-07T16:32:57.5+02:00", 500_000),
        ("2026-08-07 09:32:57.123456789 -0500 CDT m=+1.2", 123_456),
        ("2026-08-07 14:32:57.123456789 +0000 UTC", 123_456),
        ("2026-08-07 14:32:57 +0000 UTC", 0),
    ],
)
def test_every_form_that_a_client_has_written_is_read(text: str, microsecond: int) -> None:
    """The result is aware and in UTC; digits beyond microseconds are cut."""
    moment = decode_time(text)
    assert moment == SECOND.replace(microsecond=microsecond)
    assert moment.tzinfo is UTC


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01 00:00:00.000", "2026-08-07", "1786113177"])
def test_other_text_is_a_row_that_cannot_be_read(text: str) -> None:
    """Only that row fails, and its text is named."""
    with pytest.raises(JobRowDecodeError, match=f"'{text}'"):
        decode_time(text)


def test_postgres_gives_times_that_are_read_already() -> None:
    """They pass as they are."""
    there = SECOND.astimezone(timezone(timedelta(hours=1)))
    assert decode_time(there) is there
    assert decode_time_or_none(None) is None
