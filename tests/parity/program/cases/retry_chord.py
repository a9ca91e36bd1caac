"""A chord waits for the last run of members that are retried. Row 5.6."""

from celery import chord, shared_task

from ..observation import WAIT


@shared_task(bind=True, default_retry_delay=0, max_retries=2)
def unsteady(self, x):
    if self.request.retries < x:
        raise self.retry(exc=ValueError(x))
    return [x, self.request.retries]


@shared_task
def body(values):
    return sorted(values)


def observe():
    return chord([unsteady.s(0), unsteady.s(1), unsteady.s(2)], body.s()).delay().get(timeout=WAIT)
