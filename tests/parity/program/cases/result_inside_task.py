"""Waiting for a result inside a task is an error, unless it is allowed. Row 7.17."""

from celery import shared_task
from celery.result import AsyncResult, allow_join_result

from ..observation import WAIT, outcome


@shared_task
def one():
    return 1


@shared_task
def waits(task_id):
    try:
        AsyncResult(task_id).get(timeout=WAIT)
    except RuntimeError as error:
        return type(error).__name__
    return "no error"


@shared_task
def waits_allowed(task_id):
    with allow_join_result():
        return AsyncResult(task_id).get(timeout=WAIT)


@shared_task
def waits_on_purpose(task_id):
    return AsyncResult(task_id).get(timeout=WAIT, disable_sync_subtasks=False)


def observe():
    done = one.delay()
    done.get(timeout=WAIT)
    return [outcome(task.delay(done.id)) for task in (waits, waits_allowed, waits_on_purpose)]
