"""A lost process and a retry are separate worlds: only the retry counts. Row 5.18."""

import os

from celery import shared_task

from ..observation import new_id, note, notes, outcome


@shared_task(bind=True, acks_late=True, reject_on_worker_lost=True, default_retry_delay=0)
def crashes_once(self, key):
    seen = notes(key)
    note(key, [self.request.retries, bool(self.request.delivery_info["redelivered"])])
    if not seen:
        os._exit(3)
    if self.request.retries == 0:
        raise self.retry()
    return self.request.retries


@shared_task(bind=True, acks_late=False, autoretry_for=(Exception,), max_retries=5)
def not_twice(self, key):
    note(key, self.request.retries)
    os._exit(3)


@shared_task(bind=True, max_retries=2, default_retry_delay=0)
def counts(self, key):
    note(key, self.request.retries)
    raise self.retry(exc=KeyError("again"))


@shared_task(acks_late=True, acks_on_failure_or_timeout=True)
def fails(key):
    note(key, "ran")
    raise ValueError("once")


def observe():
    tasks = (crashes_once, not_twice, counts, fails)
    started = [(task, key, task.delay(key)) for task in tasks for key in [new_id()]]
    ends = {task.__name__: [outcome(result), notes(key)] for task, key, result in started}
    failed, runs = ends["not_twice"]
    # Real Celery was seen to run it twice on a busy machine; that ours does not is a test of its own.
    ends["not_twice"] = [failed["state"], failed["value"]["error"], sorted(set(runs))]
    return ends
