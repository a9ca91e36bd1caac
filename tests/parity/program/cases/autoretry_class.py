"""Autoretry may be set on a base class. Row 5.14."""

from celery import Task, shared_task

from ..observation import new_id, note, notes, outcome


class Stubborn(Task):
    autoretry_for = (ValueError,)
    max_retries = 2
    default_retry_delay = 0


@shared_task(base=Stubborn, bind=True)
def fails(self, key):
    note(key, self.request.retries)
    raise ValueError("stubborn")


def observe():
    key = new_id()
    return [outcome(fails.delay(key)), notes(key)]
