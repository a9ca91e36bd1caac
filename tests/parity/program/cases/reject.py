"""Reject without requeue ends the task as a failure. Row 6.2."""

from celery import shared_task
from celery.exceptions import Reject

from ..observation import new_id, note, notes, outcome


@shared_task
def rejects(key):
    note(key, "ran")
    raise Reject("no use", requeue=False)


def observe():
    key = new_id()
    return [outcome(rejects.delay(key)), notes(key)]
