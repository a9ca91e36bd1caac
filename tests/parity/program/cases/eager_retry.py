"""apply() runs the retries too, at once. Row 16.3."""

from celery import shared_task

from ..observation import new_id, note, notes, shown


@shared_task(bind=True)
def recovers(self, key):
    note(key, self.request.retries)
    if self.request.retries < 2:
        raise self.retry(countdown=60)
    return "recovered"


@shared_task(bind=True, max_retries=1, autoretry_for=(ValueError,))
def gives_up(self, key):
    note(key, self.request.retries)
    raise ValueError("gives up")


def observe():
    seen = []
    for task in (recovers, gives_up):
        key = new_id()
        result = task.apply((key,))
        seen.append([result.state, shown(result.get(propagate=False)), notes(key)])
    return seen
