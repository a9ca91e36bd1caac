"""The application's zone: `now()`, and what naive times mean. Row 1.24."""

import os
import time
from datetime import UTC, datetime, timedelta

from celery import Celery, shared_task

from ..observation import WAIT, new_id, note, notes


@shared_task(bind=True)
def times(self):
    return [self.request.eta, self.request.expires]


@shared_task
def starts(key):
    note(key, time.time())


def app(**settings):
    return Celery(
        "zones",
        broker=os.environ["PARITY_BROKER"],
        backend=os.environ.get("PARITY_BACKEND"),
        set_as_current=False,
        **settings,
    )


def now(**settings):
    found = app(**settings).now()
    near = abs(datetime.now(UTC) - found) < timedelta(minutes=1)
    return [near, found.utcoffset() / timedelta(hours=1)]


def naive(application):
    """A naive time that was meant as Tokyo's would be hours ago."""
    utc = datetime.now(UTC)
    soon = utc + timedelta(seconds=0.7)
    key = new_id()
    late = application.send_task(starts.name, (key,), eta=soon.replace(tzinfo=None))
    lasting = application.send_task(times.name, expires=(utc + timedelta(hours=1)).replace(tzinfo=None))
    aware = application.send_task(times.name, eta=utc.astimezone(application.timezone))
    in_seconds = application.send_task(times.name, countdown=-1, expires=600).get(timeout=WAIT)
    return {
        "expires": lasting.state if lasting.get(timeout=WAIT, propagate=False) is None else "SUCCESS",
        "aware": datetime.fromisoformat(aware.get(timeout=WAIT)[0]) == utc,
        "countdown": [datetime.fromisoformat(text).utcoffset() is not None for text in in_seconds],
        "eta": [late.get(timeout=WAIT), [start >= soon.timestamp() for start in notes(key)]],
    }


def observe():
    return {
        "unset": now(),
        "tokyo": now(timezone="Asia/Tokyo"),
        "tokyo_without_utc": now(timezone="Asia/Tokyo", enable_utc=False),
        "zone": [str(app(timezone="Asia/Tokyo").timezone), str(app().timezone)],
        "naive_in_tokyo": naive(app(timezone="Asia/Tokyo")),
    }
