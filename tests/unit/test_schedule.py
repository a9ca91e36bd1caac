"""Schedules answer as Go River's do, over clock changes too, and refuse what Go refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from river_core.errors import ValidationError
from river_core.schedule import CronSchedule, IntervalSchedule, NeverSchedule, as_next, latest

VECTORS = Path(__file__).parents[1] / "vectors"
OURS = json.loads((VECTORS / "cron_and_periodic.json").read_text("utf-8"))
RIVERS = json.loads((VECTORS / "upstream/fixtures/maintenance_values.json").read_text("utf-8"))
NEVER = ["0001-01-01T00:00:00Z"]
ODD_FROM = datetime(2026, 1, 31, 23, 58, 30, 500_000, tzinfo=UTC)

TIMED = [case for case in OURS["vectors"] if "error" not in case and case["next_utc"] != NEVER]
ACCEPTED = [case for case in OURS["rejected_or_odd"] if case.get("accepted")]
REFUSED = [
    *(case["spec"] for case in OURS["rejected_or_odd"] if not case.get("accepted")),
    *(case["spec"] for case in OURS["vectors"] if "error" in case or case["next_utc"] == NEVER),
    *RIVERS["cron_invalid"],
    *(case["expression"] for case in RIVERS["cron_cases"] if not case["next"]),
]

New_York = ZoneInfo("America/New_York")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def following(schedule: CronSchedule, moment: datetime, count: int, zone: tzinfo = UTC) -> list[datetime]:
    """The next `count` times, each asked from the one before, in `zone`."""
    found = []
    for _ in range(count):
        moment = schedule.next(moment.astimezone(zone))
        found.append(moment)
    return found


def spec_of(case: Any) -> str:
    return case if isinstance(case, str) else f"{case.get('spec') or case['expression']} {case['from']}"


@pytest.mark.parametrize("case", TIMED, ids=spec_of)
def test_times_are_gos(case: dict[str, Any]) -> None:
    """Five answers, without a zone in the spec in that of the time asked from. Checklist 144."""
    zone = UTC if case["from_zone"] == "UTC" else ZoneInfo(case["from_zone"])
    found = following(CronSchedule(case["spec"]), at(case["from"]).astimezone(zone), 5, zone)
    assert found == [at(text) for text in case["next_utc"]]


@pytest.mark.parametrize("case", [case for case in RIVERS["cron_cases"] if case["next"]], ids=spec_of)
def test_times_are_those_of_rivers_fixture(case: dict[str, Any]) -> None:
    """River's own fixture, with its offsets. Checklist 144."""
    start = at(case["from"])
    zone = start.tzinfo
    assert zone is not None
    found = following(CronSchedule(case["expression"]), start, len(case["next"]), zone)
    assert found == [at(text) for text in case["next"]]


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: repr(case["spec"]))
def test_odd_specs_that_go_accepts(case: dict[str, Any]) -> None:
    """Empty list elements, signs, spaces and negative durations mean what they mean to Go."""
    assert CronSchedule(case["spec"]).next(ODD_FROM) == at(case["next"])


@pytest.mark.parametrize("spec", REFUSED, ids=repr)
def test_refused_specs(spec: str) -> None:
    """What Go refuses, or panics over, is refused by name; so are dates that never come."""
    with pytest.raises(ValidationError, match="cron expression"):
        CronSchedule(spec)


@pytest.mark.parametrize("spec", ["0 0 31 4,6 *", ", * * * *", "* * , * ,", "0 0 31 2 *", "* * * * ,"])
def test_impossible_dates_are_refused(spec: str) -> None:
    """At construction, where Go would search for five years and never run."""
    with pytest.raises(ValidationError, match="never matches"):
        CronSchedule(spec)


@pytest.mark.parametrize(
    ("spec", "first"),
    [
        ("0 0 30 2 1", "2026-02-02T00:00:00Z"),
        ("0 0 1-31 * 1", "2026-02-01T00:00:00Z"),
        ("0 0 , * 2", "2026-02-03T00:00:00Z"),
        ("0 0 13 * ,", "2026-02-13T00:00:00Z"),
        ("0 0 *-9 * 2", "2026-02-03T00:00:00Z"),
    ],
)
def test_day_of_month_and_day_of_week(spec: str, first: str) -> None:
    """Without a star either matches; a full range is no star; a list without values matches nothing."""
    assert CronSchedule(spec).next(ODD_FROM) == at(first)


def test_weekdays_over_both_clock_changes() -> None:
    """09:00 in New York is 14:00 UTC in winter and 13:00 in summer. Checklist 144."""
    schedule = CronSchedule("0 9 * * 1-5", timezone="America/New_York")
    spring = following(schedule, datetime(2026, 3, 6, 12, tzinfo=UTC), 2)
    assert spring == [at("2026-03-06T14:00:00Z"), at("2026-03-09T13:00:00Z")]
    autumn = following(schedule, datetime(2026, 10, 30, 12, tzinfo=UTC), 2)
    assert autumn == [at("2026-10-30T13:00:00Z"), at("2026-11-02T14:00:00Z")]


def test_a_prefix_goes_before_the_time_zone_given() -> None:
    """`TZ=` wins over the argument, and over the zone asked from. Checklist 144."""
    for prefix in ("TZ=", "CRON_TZ="):
        schedule = CronSchedule(f"{prefix}Asia/Tokyo 0 9 * * *", timezone="America/New_York")
        asked = datetime(2026, 1, 1, tzinfo=New_York)
        assert schedule.next(asked) == at("2026-01-02T00:00:00Z")


def test_every_is_aligned_to_whole_seconds() -> None:
    """`@every 90s` drops the fraction of the time asked from; less than a second is one. Checklist 144."""
    assert CronSchedule("@every 90s").next(ODD_FROM) == at("2026-02-01T00:00:00Z")
    assert CronSchedule("@every 1.9s").next(ODD_FROM) == at("2026-01-31T23:58:31Z")
    assert CronSchedule("@every 2.3m").next(ODD_FROM) == at("2026-02-01T00:00:48Z")
    with pytest.raises(ValidationError, match="292 years"):
        CronSchedule("@every 9999999h")


ZONES = ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu"]
CHANGES = [
    at("2026-03-08T07:00:00Z"),
    at("2026-11-01T06:00:00Z"),
    at("2026-03-29T01:00:00Z"),
    at("2026-10-25T01:00:00Z"),
    at("2026-04-04T15:00:00Z"),
    at("2026-10-03T15:30:00Z"),
    at("2026-02-15T02:00:00Z"),
    at("2026-03-22T02:00:00Z"),
]
MINUTES = st.sampled_from(["*", "*/20", "30", "0,15", "59"])
HOURS = st.sampled_from(["*", "1", "2", "0-3", "*/2", "3"])


@given(st.sampled_from(ZONES), st.sampled_from(CHANGES), st.integers(-300, 300), MINUTES, HOURS)
def test_around_clock_changes_each_matching_minute_runs_once(
    zone_name: str, change: datetime, shift: int, minutes: str, hours: str
) -> None:
    """An instant runs when the zone's clocks show a matching time then: none in a gap, both of a repeat."""
    zone = ZoneInfo(zone_name)
    start = change + timedelta(minutes=shift)
    schedule = CronSchedule(f"TZ={zone_name} {minutes} {hours} * * *")
    fields = schedule._fields
    assert fields is not None
    shown = ((start + timedelta(minutes=step)) for step in range(1, 2 * 24 * 60))
    right = [
        moment
        for moment in shown
        if (local := moment.astimezone(zone)).minute in fields.minute.allowed
        and local.hour in fields.hour.allowed
    ][:4]
    assert following(schedule, start, len(right)) == right


def test_a_leap_day_is_found_over_a_century_without_one() -> None:
    """2100 is no leap year; Go gives up after five years, this does not."""
    assert CronSchedule("0 0 29 2 *").next(at("2096-03-01T00:00:00Z")) == at("2104-02-29T00:00:00Z")


def test_intervals_count_from_the_time_before() -> None:
    """As River's PeriodicInterval, fractions kept."""
    vector = OURS["interval"]
    assert IntervalSchedule(vector["interval_seconds"]).next(at(vector["from"])) == at(vector["next"])
    assert IntervalSchedule(timedelta(minutes=1)).next(ODD_FROM) == ODD_FROM + timedelta(minutes=1)


@pytest.mark.parametrize("interval", [0, -1, float("nan"), float("inf"), True, "5", 1e30, timedelta()])
def test_an_interval_is_longer_than_nothing(interval: Any) -> None:
    """Anything else is refused by name."""
    with pytest.raises(ValidationError, match="interval"):
        IntervalSchedule(interval)


def test_never_is_later_than_anything() -> None:
    """River's NeverSchedule."""
    assert NeverSchedule().next(ODD_FROM).year == 9999


@pytest.mark.parametrize("answer", [ODD_FROM, ODD_FROM - timedelta(seconds=1), datetime(2030, 1, 1), None])  # noqa: DTZ001
def test_an_answer_must_be_later_and_aware(answer: Any) -> None:
    """A schedule that returns the time itself would run without end. Checklist 143."""
    with pytest.raises(ValidationError):
        as_next(lambda moment: answer)(ODD_FROM)


def test_a_schedule_is_an_object_or_a_function() -> None:
    """Nothing else."""
    assert as_next(lambda moment: moment + timedelta(1))(ODD_FROM) == ODD_FROM + timedelta(1)
    with pytest.raises(ValidationError, match="5 is neither"):
        as_next(5)  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize(
    "schedule",
    [
        CronSchedule("*/7 * * * *"),
        CronSchedule("0 0 1 1 *"),
        CronSchedule("@every 90s"),
        CronSchedule("TZ=Europe/Berlin 30 2 * * *"),
        IntervalSchedule(77.7),
        NeverSchedule(),
        lambda moment: moment + timedelta(minutes=5),
    ],
)
@pytest.mark.parametrize("gap", [timedelta(seconds=10), timedelta(hours=9), timedelta(days=3)])
def test_the_latest_time_is_the_last_of_all_steps(schedule: Any, gap: timedelta) -> None:
    """It is what asking again and again gives, found without asking as often."""
    after = at("2026-10-24T12:00:00Z") if gap > timedelta(days=1) else ODD_FROM
    until = after + gap
    steps = [after]
    while steps[-1] <= until:
        steps.append(as_next(schedule)(steps[-1]))
    assert latest(schedule, after, until) == (steps[-2] if len(steps) > 2 else None)


def test_the_latest_time_after_years_takes_few_steps() -> None:
    """A minutely cron after twenty years away, and a function that would take too many."""
    now = at("2026-01-01T00:00:30Z")
    long_ago = now - timedelta(days=7300)
    assert latest(CronSchedule("* * * * *"), long_ago, now) == at("2026-01-01T00:00:00Z")
    assert latest(lambda moment: moment + timedelta(seconds=1), long_ago, now) is None


@given(st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)))  # noqa: DTZ001 - made aware below
def test_times_rise(naive: datetime) -> None:
    """Each answer is later than the one before, whatever the time asked from."""
    schedule = CronSchedule("CRON_TZ=Australia/Lord_Howe */30 0-4 * * *")
    start = naive.replace(tzinfo=UTC)
    assert all(earlier < later for earlier, later in pairwise([start, *following(schedule, start, 5)]))
