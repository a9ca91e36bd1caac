"""An eta may be aware, naive (then it is UTC), text, or past; nothing runs before it. Row 3.4."""

import time
from datetime import UTC, datetime, timedelta, timezone

from celery import shared_task

from ..observation import WAIT


@shared_task
def clock():
    return time.time()


def at(moment, eta):
    return clock.apply_async(eta=eta).get(timeout=WAIT) >= moment.timestamp()


def observe():
    def soon():
        return datetime.now(UTC) + timedelta(seconds=1)

    aware, zoned, naive, text = soon(), soon(), soon(), soon()
    past = datetime.now(UTC) - timedelta(days=1)
    return {
        "aware": at(aware, aware),
        "other_zone": at(zoned, zoned.astimezone(timezone(timedelta(hours=9)))),
        "naive_is_utc": at(naive, naive.replace(tzinfo=None)),
        "text": at(text, text.isoformat()),
        "past": at(past, past),
    }
