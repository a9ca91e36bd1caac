"""Tasks with store_eager_result store eager results, unless they are ignored. Row 16.5."""

from celery import shared_task
from celery.result import AsyncResult

from ..observation import shown


@shared_task(store_eager_result=True)
def divide(x, y):
    return x / y


@shared_task
def plain(x, y):
    return x / y


def observe():
    good, bad, ignored = divide.apply((4, 2)), divide.apply((4, 0)), divide.apply((4, 2), ignore_result=True)
    handles = [AsyncResult(result.id) for result in (plain.apply((4, 2)), good, bad, ignored)]
    return [[handle.state, shown(handle.result)] for handle in handles]
