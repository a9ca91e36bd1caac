"""When intervals, also relative ones, and solar schedules are due. Rows 14.3, 14.4."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from celery.schedules import crontab, maybe_schedule, schedule, solar

from ..app import app

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def asked(made, last):
    due, left = made.is_due(last)
    return [bool(due), round(left, 3)]


def observe():
    late = NOON + timedelta(minutes=40, seconds=30)
    spring = datetime(2026, 3, 29, 1, 30, tzinfo=BERLIN)
    hourly = {"nowfun": lambda: late, "app": app}
    return {
        "due": asked(schedule(10, nowfun=lambda: NOON, app=app), NOON - timedelta(seconds=10)),
        "not": asked(schedule(10, nowfun=lambda: NOON, app=app), NOON - timedelta(seconds=3)),
        "relative": asked(schedule(3600, relative=True, **hourly), NOON),
        "relative_not": asked(schedule(timedelta(hours=2), relative=True, **hourly), NOON),
        "real_time": asked(schedule(7200, nowfun=lambda: spring, app=app), spring),
        "made": [
            maybe_schedule(90, app=app) == timedelta(seconds=90),
            repr(maybe_schedule(timedelta(minutes=2), app=app)),
            repr(schedule(0.5)),
            schedule(10) == crontab(),
        ],
        "sun": [
            asked(solar(event, 52.52, 13.4, nowfun=lambda: NOON, app=app), NOON - timedelta(hours=20))
            for event in ("sunrise", "solar_noon", "dusk_civil", "dawn_astronomical")
        ],
    }
