"""What kombu's JSON knows beyond JSON: times, decimals, uuids, bytes; tuples become lists. Row 19.2."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

from celery import shared_task

from ..observation import WAIT

VALUES = [
    datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
    datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    datetime(2026, 1, 2, 3, 4, 5),  # noqa: DTZ001 - that naive times stay naive is the point
    date(2026, 1, 2),
    time(3, 4, 5),
    Decimal("1.10"),
    UUID("12345678123456781234567812345678"),
    b"bytes",
    b"\xff\x00 not text",
    (1, (2, 3)),
    {"when": date(2026, 1, 2), 1: "integer key"},
]


@shared_task
def echo(value):
    return [repr(value), value]


def observe():
    answers = [echo.delay(value).get(timeout=WAIT) for value in VALUES]
    return [[inside, repr(back)] for inside, back in answers]
