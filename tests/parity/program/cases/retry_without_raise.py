"""self.retry raises by itself: nothing after it runs, also inside a try that catches Exception. Row 5.1."""

from celery import shared_task
from celery.exceptions import Retry

from ..observation import new_id, note, notes, outcome


@shared_task(bind=True)
def bare(self, key):
    note(key, f"run {self.request.retries}")
    if self.request.retries < 1:
        self.retry(countdown=0)
        note(key, "not reached")
    return "done"


@shared_task(bind=True)
def catches(self):
    try:
        self.retry(countdown=0)
    except Retry as error:
        return ["swallowed", type(error).__name__, error.is_eager]


def observe():
    key = new_id()
    return {"outcome": outcome(bare.delay(key)), "notes": notes(key)}
