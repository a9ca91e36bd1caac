"""get() gives id and value to a callback; wait() is get(). Row 7.4."""

from celery import shared_task

from ..observation import WAIT


@shared_task
def seven():
    return 7


def observe():
    seen = []
    result = seven.delay()
    result.get(timeout=WAIT, callback=lambda task_id, value: seen.append([task_id == result.id, value]))
    return [seen, seven.delay().wait(timeout=WAIT)]
