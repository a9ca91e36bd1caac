"""A retry keeps the arguments, or replaces them when it is told to. Row 5.1."""

from celery import shared_task

from ..observation import new_id, note, notes, outcome


@shared_task(bind=True)
def same(self, key, x, y=0):
    note(key, [self.request.retries, x, y])
    if self.request.retries == 0:
        raise self.retry(countdown=0)
    return [x, y]


@shared_task(bind=True)
def other(self, key, x, y=0):
    note(key, [self.request.retries, x, y])
    if self.request.retries == 0:
        raise self.retry(args=(key, x + 1), kwargs={"y": y + 1}, countdown=0)
    return [x, y]


def observe():
    seen = []
    for task in (same, other):
        key = new_id()
        seen.append([outcome(task.delay(key, 1, y=2)), notes(key)])
    return seen
