"""`celery.utils.time`: deadlines on a clock that is changed, and the small helpers."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from river_compat.celery.utils import time as times
from river_compat.celery.utils.zones import LocalTimezone, after_gap, occurrences

BERLIN = ZoneInfo("Europe/Berlin")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")


@pytest.mark.parametrize(
    ("wall", "expected"),
    [
        (datetime(2026, 3, 29, 2, 30, tzinfo=BERLIN), []),
        (datetime(2026, 7, 1, 2, 30, tzinfo=BERLIN), [datetime(2026, 7, 1, 0, 30, tzinfo=UTC)]),
        (
            datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=1),
            [datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)],
        ),
        (
            datetime(2026, 4, 5, 1, 45, tzinfo=LORD_HOWE),
            [datetime(2026, 4, 4, 14, 45, tzinfo=UTC), datetime(2026, 4, 4, 15, 15, tzinfo=UTC)],
        ),
    ],
)
def test_a_wall_clock_shows_a_time_never_once_or_twice(wall: datetime, expected: list[datetime]) -> None:
    assert occurrences(wall) == expected


def test_a_skipped_time_is_moved_by_the_change() -> None:
    assert after_gap(datetime(2026, 10, 4, 2, 10, tzinfo=LORD_HOWE)) == datetime(
        2026, 10, 3, 15, 40, tzinfo=UTC
    )
    naive = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001
    assert times.make_aware(naive, BERLIN) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


def test_elapsed_time_counts_through_a_change() -> None:
    start = datetime(2026, 3, 29, 1, 59, 55, tzinfo=BERLIN)
    assert times.add_seconds_to_datetime(start, 10).isoformat() == "2026-03-29T03:00:05+02:00"
    assert times.remaining(start, timedelta(hours=1), start) == timedelta(hours=1)


def test_a_relative_end_stays_behind_its_start() -> None:
    start = datetime(2026, 4, 5, 1, tzinfo=LORD_HOWE)
    left = times.remaining(start, timedelta(hours=1), start, relative=True)
    assert left == timedelta(minutes=90)


def test_fields_are_set_and_the_weekday_is_looked_for() -> None:
    assert date(2026, 1, 31) + times.ffwd(month=2) == date(2026, 2, 28)
    assert date(2026, 11, 30) + times.ffwd(weekday=2, weeks=1) == date(2026, 12, 9)
    assert repr(times.ffwd(hour=3)) == "ffwd(hour=3, weeks=0)"


def test_the_zone_of_the_machine_without_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    zone = LocalTimezone()
    moment = datetime(2026, 6, 1, 12, tzinfo=zone)
    assert moment.astimezone(UTC).astimezone(zone).utcoffset() == moment.utcoffset()


@pytest.mark.parametrize(("text", "seconds"), [("10/m", 10 / 60), ("", 0), (None, 0), ("2.5", 2.5), (3, 3)])
def test_rates(text: object, seconds: float) -> None:
    assert times.rate(text) == seconds
