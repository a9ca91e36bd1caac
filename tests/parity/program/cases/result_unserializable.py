"""A result that JSON cannot hold makes the task fail. Row 7.21."""

from celery import shared_task

from ..observation import WAIT


@shared_task
def give_object():
    return object()


@shared_task
def give_nested():
    return {"a": [object()]}


def observe():
    seen = []
    for task in (give_object, give_nested):
        result = task.delay()
        error = result.get(timeout=WAIT, propagate=False)
        seen.append([result.state, type(error).__name__])
    return seen
