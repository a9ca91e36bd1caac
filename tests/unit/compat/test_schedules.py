"""Celery's schedules: fields, due times, clock changes, pickles."""

import copy
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from river_compat.celery import Celery
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.schedules import (
    ParseException,
    crontab,
    crontab_parser,
    maybe_schedule,
    schedule,
    solar,
)

LORD_HOWE = "Australia/Lord_Howe"
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def app() -> Iterator[Celery]:
    with Celery("shop", set_as_current=False) as made:
        yield made


def runs(cron: crontab, start: datetime, end: datetime) -> list[str]:
    """Return the times in UTC at which it runs after `start` and until `end`."""
    found, last, end = [], start.astimezone(UTC), end.astimezone(UTC)
    cron.nowfun = lambda: last
    while (last := last + cron.remaining_estimate(last)) <= end:
        found.append(last.strftime("%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("zone", "fields", "day", "expected"),
    [
        ("Europe/Berlin", {"hour": 2, "minute": 30}, (2026, 3, 28), ["28 01:30", "30 00:30"]),
        ("Europe/Berlin", {"hour": 2, "minute": 30}, (2026, 10, 24), ["24 00:30", "25 00:30", "25 01:30"]),
        ("Europe/Berlin", {"hour": 3, "minute": 0}, (2026, 3, 28), ["28 02:00", "29 01:00", "30 01:00"]),
        ("America/New_York", {"hour": 2, "minute": 30}, (2026, 3, 7), ["07 07:30", "09 06:30"]),
        ("America/New_York", {"hour": 1, "minute": 15}, (2026, 10, 31), ["31 05:15", "01 05:15", "01 06:15"]),
        (LORD_HOWE, {"hour": 2, "minute": 15}, (2026, 10, 3), ["02 15:45", "04 15:15"]),
        (
            "Australia/Lord_Howe",
            {"hour": 1, "minute": 45},
            (2026, 4, 4),
            ["03 14:45", "04 14:45", "04 15:15"],
        ),
        (LORD_HOWE, {"hour": 1, "minute": 15}, (2026, 4, 4), ["03 14:15", "04 14:15"]),
    ],
)
def test_a_skipped_time_does_not_run_and_a_repeated_one_runs_twice(
    app: Celery, zone: str, fields: dict[str, int], day: tuple[int, int, int], expected: list[str]
) -> None:
    """Row 14.2, and the decision on daylight saving time."""
    app.conf.timezone = zone
    start = datetime(*day, tzinfo=ZoneInfo(zone))
    found = runs(crontab(**fields, app=app), start, start + timedelta(days=4))
    assert found[: len(expected)] == expected


@pytest.mark.parametrize(
    ("zone", "day", "count"),
    [
        ("Europe/Berlin", (2026, 3, 29), 23 * 4),
        ("Europe/Berlin", (2026, 10, 25), 25 * 4),
        (LORD_HOWE, (2026, 10, 4), 23 * 4 + 2),
        (LORD_HOWE, (2026, 4, 5), 24 * 4 + 2),
    ],
)
def test_a_schedule_of_every_quarter_hour_follows_real_time(
    app: Celery, zone: str, day: tuple[int, int, int], count: int
) -> None:
    app.conf.timezone = zone
    start = datetime(*day, tzinfo=ZoneInfo(zone)) - timedelta(minutes=1)  # one minute before midnight
    end = start + timedelta(days=1)
    assert len(runs(crontab(minute="*/15", app=app), start, end)) == count


def test_day_of_month_and_weekday_must_both_match(app: Celery) -> None:
    friday_13th = crontab(0, 0, day_of_week="fri", day_of_month=13, app=app)
    assert runs(friday_13th, NOON, NOON + timedelta(days=365)) == ["13 00:00"]


def test_a_leap_day_on_a_given_weekday_is_found_decades_ahead(app: Celery) -> None:
    cron = crontab(0, 0, day_of_week="sun", day_of_month=29, month_of_year=2, app=app)
    cron.nowfun = lambda: datetime(2088, 3, 1, tzinfo=UTC)
    assert cron.now() + cron.remaining_estimate(cron.now()) == datetime(2128, 2, 29, tzinfo=UTC)


def test_the_first_run_is_the_next_match_even_within_the_minute(app: Celery) -> None:
    cron = crontab(nowfun=lambda: NOON, app=app)
    assert cron.is_due(NOON) == (False, 60)
    assert cron.is_due(NOON - timedelta(seconds=1)) == (True, 60)


@pytest.mark.parametrize(("minutes_late", "due"), [(59, True), (60, True), (61, False)])
def test_a_run_that_is_later_than_the_deadline_is_left_out(app: Celery, minutes_late: int, due: bool) -> None:
    """Row 14.6."""
    app.conf.beat_cron_starting_deadline = 3600
    noon = crontab(0, 12, nowfun=lambda: NOON + timedelta(minutes=minutes_late), app=app)
    state = noon.is_due(NOON - timedelta(hours=3))
    assert state == (due, 24 * 3600 - minutes_late * 60)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"minute": 60}, "Valid range is 0-59"),
        ({"day_of_week": "7"}, "outside 0 to 6"),
        ({"day_of_week": "funday"}, "no name of a month or weekday"),
        ({"day_of_month": 30, "month_of_year": 2}, "never occurs"),
        ({"hour": []}, "hour allows no value"),
    ],
)
def test_fields_that_cannot_be_are_refused(fields: dict[str, object], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        crontab(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "1,,2", "*/", "-20", "1-9/"])
def test_text_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ParseException):
        crontab_parser(60).parse(text)


def test_five_fields_in_the_order_of_cron() -> None:
    assert crontab.from_string("5 4  1-7 jan mon") == crontab(5, 4, "mon", "1-7", "jan")


def test_numbers_that_are_read_once_survive_a_pickle() -> None:
    cron = crontab(minute=iter([1, 2]))
    again = pickle.loads(pickle.dumps(cron))  # noqa: S301
    assert again == cron
    assert again.minute == {1, 2}
    assert copy.copy(cron) == cron


def test_schedules_compare_by_what_they_mean(app: Celery) -> None:
    assert schedule(60, app=app) == timedelta(minutes=1)
    assert schedule(60) != schedule(61)
    assert crontab() != schedule(60)
    assert crontab(minute="0-59") == crontab()
    assert crontab(nowfun=datetime.now) != crontab()


def test_seconds_and_timedeltas_become_schedules(app: Celery) -> None:
    made = maybe_schedule(90, relative=True, app=app)
    assert isinstance(made, schedule)
    assert (made.run_every, made.relative, made.app) == (timedelta(seconds=90), True, app)
    own = crontab()
    assert maybe_schedule(own, app=app) is own
    assert own.app is app
    assert maybe_schedule(None) is None


def test_a_relative_schedule_runs_at_full_units(app: Celery) -> None:
    """Row 14.3."""
    hourly = schedule(3600, relative=True, nowfun=lambda: NOON + timedelta(minutes=40), app=app)
    assert hourly.is_due(NOON - timedelta(minutes=20)) == (True, 20 * 60)


def test_sunrise(app: Celery) -> None:
    """Row 14.4."""
    pytest.importorskip("ephem")
    sunrise = solar("sunrise", 52.52, 13.4, nowfun=lambda: NOON, app=app)
    due, left = sunrise.is_due(NOON)
    assert not due
    assert (NOON + timedelta(seconds=left)).strftime("%d %H:%M") == "02 02:48"
    assert sunrise.is_due(NOON - timedelta(days=1))[0]


def test_sunrise_without_ephem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 14.4."""
    monkeypatch.setitem(__import__("sys").modules, "ephem", None)
    with pytest.raises(ImproperlyConfigured, match="pip install ephem"):
        solar("sunrise", 0, 0)
