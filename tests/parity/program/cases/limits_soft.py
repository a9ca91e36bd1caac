"""Row 10.1. A soft limit is an exception in the task: it may be caught, be retried, or fail the task."""

import time

from celery import shared_task
from celery.exceptions import SoftTimeLimitExceeded

from ..observation import new_id, note, notes, outcome


@shared_task(soft_time_limit=1)
def caught():
    try:
        time.sleep(30)
    except SoftTimeLimitExceeded as error:
        return [repr(error), isinstance(error, Exception)]


@shared_task
def escapes():
    time.sleep(30)


@shared_task(bind=True, autoretry_for=(Exception,), max_retries=1, default_retry_delay=0)
def retried(self, key):
    note(key, [self.request.retries, self.request.timelimit])
    time.sleep(30)


def observe():
    key = new_id()
    results = [
        caught.delay(),
        escapes.apply_async(soft_time_limit=1),
        retried.apply_async((key,), soft_time_limit=1),
    ]
    return [[outcome(result) for result in results], notes(key)]
