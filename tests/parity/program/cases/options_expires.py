"""`expires` of a task counts for every call that gives none. Row 2.17."""

from datetime import UTC, datetime, timedelta

from celery import shared_task

from ..observation import WAIT, new_id, note, notes


@shared_task(bind=True, expires=600)
def soon(self):
    return self.request.expires


@shared_task(expires=datetime(2020, 1, 1, tzinfo=UTC))
def gone(key):
    note(key, "ran")


def end(task, *args, **options):
    result = task.apply_async(args, **options)
    result.get(timeout=WAIT, propagate=False)
    return result.state


def observe():
    before = datetime.now(UTC)
    expires = datetime.fromisoformat(soon.delay().get(timeout=WAIT))
    key, other = new_id(), new_id()
    return {
        "in_seconds": timedelta(0) <= expires - before - timedelta(seconds=600) < timedelta(minutes=1),
        "gone": [end(gone, key), notes(key)],
        "call_wins": [end(gone, other, expires=600), notes(other)],
        "none_clears": [soon.apply_async(expires=None).get(timeout=WAIT), end(gone, other, expires=None)],
    }
