"""What the Retry exception says to the code that catches it inside the task. Row 5.16."""

from celery import shared_task
from celery.exceptions import Retry

from ..observation import new_id, note, notes, outcome


@shared_task(bind=True)
def looks(self, key):
    if self.request.retries:
        return "done"
    cause = ValueError("because")
    try:
        raise self.retry(exc=cause, countdown=0)
    except Retry as error:
        note(key, [error.exc is cause, error.when, error.is_eager, error.excs, error.humanize(), str(error)])
        raise


def observe():
    key = new_id()
    return [outcome(looks.delay(key)), notes(key)]
