"""self.retry runs the task again under the same id until it succeeds. Row 5.1."""

from celery import shared_task

from ..observation import new_id, note, notes, outcome


@shared_task(bind=True)
def flaky(self, key):
    note(key, [self.request.id, self.request.retries])
    if self.request.retries < 2:
        raise self.retry(countdown=0)
    return f"after {self.request.retries}"


def observe():
    key = new_id()
    result = flaky.apply_async((key,), task_id=key)
    return {
        "outcome": outcome(result),
        "runs": [[task_id == key, retries] for task_id, retries in notes(key)],
    }
