"""`request.retries` counts what the task asked for: by itself, or by a setting. Row 4.2."""

from celery import shared_task

from ..observation import new_id, note, notes, outcome


@shared_task(bind=True, max_retries=None, default_retry_delay=0)
def again(self, key, until):
    note(key, self.request.retries)
    if self.request.retries < until:
        raise self.retry()
    return self.request.retries


@shared_task(bind=True, autoretry_for=(OSError,), max_retries=2, default_retry_delay=0)
def broken(self, key):
    note(key, self.request.retries)
    raise OSError("still")


@shared_task(bind=True)
def plain(self, key):
    note(key, self.request.retries)
    return self.request.retries


def observe():
    keys = [new_id() for _ in range(4)]
    results = [
        again.delay(keys[0], 3),
        broken.delay(keys[1]),
        plain.delay(keys[2]),
        plain.apply_async((keys[3],), retries=4),
    ]
    ends = [outcome(result) for result in results]
    return [[end, notes(key)] for end, key in zip(ends, keys, strict=True)]
