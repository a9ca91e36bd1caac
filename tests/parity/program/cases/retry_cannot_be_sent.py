"""A retry that cannot be sent ends the run; nothing runs again, and the worker goes on. Row 5.8."""

from celery import shared_task
from celery.exceptions import Reject

from ..observation import new_id, note, notes, outcome, wait_for_notes


@shared_task(bind=True, default_retry_delay=0)
def unserializable(self, key):
    note(key, self.request.retries)
    try:
        self.retry(args=(key, object()))
    except Reject as error:
        note(key, [isinstance(error.reason, Exception), error.requeue])
        raise


@shared_task
def alive():
    return True


def observe():
    key = new_id()
    result = unserializable.delay(key)
    seen = wait_for_notes(key, 2)
    end = outcome(result)
    return [seen, end["state"], end["value"]["error"], outcome(alive.delay()), notes(key)]
