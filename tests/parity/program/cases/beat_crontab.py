"""What fields of a crontab mean, when it is due next, equality, text and pickles. Rows 14.2, 14.6."""

import pickle
from datetime import UTC, datetime, timedelta

from celery.schedules import ParseException, crontab, crontab_parser

from ..app import app

NOW = datetime(2026, 1, 29, 14, 30, 15, tzinfo=UTC)
FIELDS = [
    {},
    {"minute": "*/15"},
    {"minute": [5, 42], "hour": "9-17/4"},
    {"minute": 30, "hour": 14, "day_of_week": "mon-fri"},
    {"minute": 0, "hour": 4, "day_of_week": "sun", "day_of_month": "1-7"},
    {"minute": "55-5/3", "hour": "22-2"},
    {"minute": 0, "hour": 0, "day_of_month": 29, "month_of_year": 2},
    {"minute": 0, "hour": 0, "day_of_month": 13, "day_of_week": 5},
    {"minute": 0, "hour": 12, "month_of_year": "nov,jan-feb", "day_of_month": "31"},
]
BAD = [
    {"minute": 60},
    {"hour": "0-30"},
    {"day_of_week": "7"},
    {"day_of_week": "funday"},
    {"day_of_month": 30, "month_of_year": "feb"},
    {"minute": "*/"},
    {"minute": "1,,2"},
    {"minute": "-20"},
]


def runs(cron, count=6):
    found, last = [], NOW
    for _ in range(count):
        cron.nowfun = lambda: last  # noqa: B023 - called within the turn
        last = last + cron.remaining_estimate(last)
        found.append(last.isoformat())
    return found


def due(minutes_late, deadline=None):
    late = NOW.replace(minute=0, second=0) + timedelta(minutes=minutes_late)
    hourly = crontab(minute=0, nowfun=lambda: late, app=app)
    before, app.conf.beat_cron_starting_deadline = app.conf.beat_cron_starting_deadline, deadline
    try:
        return [bool(hourly.is_due(late - timedelta(days=1))[0]), hourly.is_due(late - timedelta(days=1))[1]]
    finally:
        app.conf.beat_cron_starting_deadline = before


def kind(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except ParseException:
        return "ParseException"
    except (TypeError, ValueError) as error:
        return type(error).__name__
    return None


def observe():
    text = crontab.from_string("5 4 1-7 jan mon")
    return {
        "runs": [runs(crontab(**fields, app=app)) for fields in FIELDS],
        "bad": [kind(crontab, **fields) for fields in BAD],
        "type": kind(crontab, minute=object()),
        "due": [due(0), due(59), due(10, deadline=600), due(11, deadline=600)],
        "equal": [
            text == crontab(5, 4, "mon", "1-7", "jan"),
            crontab("0-59") == crontab(),
            crontab(1) == crontab(2),
        ],
        "text": [repr(text), repr(crontab(minute="*/5"))],
        "pickled": pickle.loads(pickle.dumps(text)) == text,  # noqa: S301 - its own
        "parser": sorted(crontab_parser(60).parse("2-4/3,*/20,58-1")),
    }
