"""Row 12.2. A run that has begun is ended, its state is REVOKED, and the worker works on."""

import time

from celery import shared_task

from ..observation import new_id, note, outcome, wait_for_notes


@shared_task
def sleeps(key):
    note(key, "began")
    time.sleep(60)


@shared_task
def quick():
    return "quick"


def observe():
    key = new_id()
    result = sleeps.delay(key)
    wait_for_notes(key)
    result.revoke(terminate=True)
    seen = outcome(result)
    return {**seen, "others": outcome(quick.delay())}
