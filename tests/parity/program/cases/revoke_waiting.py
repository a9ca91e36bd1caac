"""Rows 12.1, 7.9. A task that is revoked while it waits for its time never runs, and its state is REVOKED."""

import time

from celery import shared_task

from ..observation import new_id, note, notes, outcome


@shared_task
def told(key):
    note(key, "ran")


@shared_task
def quick():
    return "quick"


def observe():
    key = new_id()
    result = told.apply_async((key,), countdown=2)
    result.revoke()
    seen = outcome(result)
    time.sleep(0.5)  # nothing is to come
    return {
        "outcome": seen,
        "ready": result.ready(),
        "failed": result.failed(),
        "successful": result.successful(),
        "ran": notes(key),
        "others": outcome(quick.delay()),
    }
