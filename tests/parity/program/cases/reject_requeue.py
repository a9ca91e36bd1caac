"""A task that rejects with requeue runs again, and knows it. Row 6.3."""

from celery import shared_task
from celery.exceptions import Reject

from ..observation import new_id, note, notes, outcome


@shared_task(bind=True, acks_late=True)
def again(self, key):
    note(key, [self.request.retries, bool(self.request.delivery_info.get("redelivered"))])
    if len(notes(key)) == 1:
        raise Reject("not now", requeue=True)
    return "done"


def observe():
    key = new_id()
    return [outcome(again.delay(key)), notes(key)]
