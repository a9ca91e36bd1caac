"""autoretry_for retries the listed exceptions and their subclasses, and nothing else. Rows 2.6, 5.9."""

from celery import shared_task

from ..observation import new_id, note, notes, outcome

OPTIONS = {"bind": True, "autoretry_for": (LookupError,), "default_retry_delay": 0}


@shared_task(**OPTIONS)
def recovers(self, key):
    note(key, self.request.retries)
    if self.request.retries < 2:
        raise KeyError("listed by its base")
    return "recovered"


@shared_task(**OPTIONS)
def never_recovers(self, key):
    note(key, self.request.retries)
    raise IndexError("always")


@shared_task(**OPTIONS)
def unlisted(self, key):
    note(key, self.request.retries)
    raise ValueError("not listed")


def observe():
    seen = []
    for task in (recovers, never_recovers, unlisted):
        key = new_id()
        seen.append([outcome(task.delay(key)), notes(key)])
    return seen
