"""Values go on to the next step although nothing is stored of them. Row 8.5."""

from celery import chain, shared_task

from ..observation import WAIT


@shared_task(ignore_result=True)
def quiet(value):
    return value


@shared_task
def add(x, y):
    return x + y


def observe():
    result = chain(quiet.s(3), add.s(1))()
    return {"value": result.get(timeout=WAIT), "quiet": [result.parent.state, result.parent.result]}
