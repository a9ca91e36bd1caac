"""`rate_limit` spaces the starts of one task and holds no other. Rows 2.13, 10.7."""

import time

from celery import shared_task

from ..observation import new_id, note, notes, outcome


@shared_task(rate_limit="4/s")
def spaced(key):
    note(key, time.time())


@shared_task
def quick():
    return time.time()


def observe():
    key = new_id()
    results = [spaced.delay(key) for _ in range(4)]
    other = outcome(quick.delay())["value"]
    ends = [outcome(result)["state"] for result in results]
    starts = sorted(notes(key))
    return {
        "ends": ends,
        "spaced": starts[-1] - starts[0] >= 0.7,
        "others_go_by": float(other) < starts[-1],
        "attribute": spaced.rate_limit,
    }
