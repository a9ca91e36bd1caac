"""Row 12.4. A task that waits for its retry is revoked and does not run again."""

from celery import shared_task

from ..observation import new_id, note, notes, outcome, until


@shared_task(bind=True, max_retries=3)
def again(self, key):
    note(key, self.request.retries)
    raise self.retry(countdown=2)


def observe():
    key = new_id()
    result = again.delay(key)
    until(lambda: result.state, lambda state: state == "RETRY")
    result.revoke()
    return {"outcome": outcome(result), "ran": notes(key)}
