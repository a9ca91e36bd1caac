"""A forgotten result is PENDING again. Row 7.8."""

from celery import shared_task
from celery.result import AsyncResult

from ..observation import WAIT


@shared_task
def one():
    return 1


def observe():
    result = one.delay()
    value = result.get(timeout=WAIT)
    result.forget()
    again = AsyncResult(result.id)
    return [value, again.state, repr(again.result)]
