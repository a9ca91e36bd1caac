"""retry(throw=False) returns the exception; the body goes on and its own value is kept. Row 5.4."""

from celery import shared_task
from celery.exceptions import Retry

from ..observation import new_id, note, outcome, wait_for_notes


@shared_task(bind=True)
def goes_on(self, key):
    if self.request.retries == 0:
        returned = self.retry(countdown=1, throw=False)
        note(key, ["went on", isinstance(returned, Retry)])
        return "first"
    note(key, ["second run", self.request.retries])
    return "second"


def observe():
    key = new_id()
    result = goes_on.delay(key)
    return [outcome(result), wait_for_notes(key, 2)]
