"""A countdown is not run before it is over; zero and None mean now; it beats an eta. Rows 3.3, 10.5."""

import time
from datetime import UTC, datetime

from celery import shared_task

from ..observation import WAIT


@shared_task
def clock():
    return time.time()


def waited(**options):
    sent = time.time()
    return clock.apply_async(**options).get(timeout=WAIT) - sent


def observe():
    return {
        "one": waited(countdown=1) >= 1,
        "half": waited(countdown=0.5) >= 0.5,
        "zero": waited(countdown=0) >= 0,
        "none": waited(countdown=None) >= 0,
        "beats_eta": waited(countdown=1, eta=datetime(2000, 1, 1, tzinfo=UTC)) >= 1,
    }
