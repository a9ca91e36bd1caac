"""A retry keeps the time after which the task is not to run. Row 10.6."""

from datetime import UTC, datetime, timedelta

from celery import shared_task

from ..observation import new_id, note, outcome, until, wait_for_notes

LATER = datetime(2096, 1, 2, 3, 4, 5, tzinfo=UTC)


@shared_task(bind=True, max_retries=3)
def again(self, key, wait=None):
    note(key, [self.request.retries, str(self.request.expires)])
    if wait is not None:
        until(lambda: datetime.now(UTC), lambda now: now > datetime.fromisoformat(wait))
        raise self.retry(countdown=0)
    if self.request.retries < 2:
        raise self.retry(countdown=0)
    return "third run"


def observe():
    keys = new_id(), new_id()
    kept = again.apply_async((keys[0],), expires=LATER)
    expires = datetime.now(UTC) + timedelta(seconds=5)
    past = again.apply_async((keys[1], expires.isoformat()), expires=expires)
    seen = {"kept": outcome(kept), "past": outcome(past)["state"]}
    runs = [[retries, "2096-01-02" in expires] for retries, expires in wait_for_notes(keys[0], 3)]
    return {**seen, "runs": runs, "runs before it is past": len(wait_for_notes(keys[1]))}
