"""date_done is there once a task has ended. Rows 7.7, 7.11."""

import datetime

from celery import shared_task
from celery.result import AsyncResult

from ..observation import WAIT


@shared_task
def fails():
    raise KeyError("the line that fails")


def observe():
    result = fails.delay()
    error = result.get(timeout=WAIT, propagate=False)
    again = AsyncResult(result.id)
    return {
        "error": [type(error).__name__, list(error.args)],
        "trace": 'raise KeyError("the line that fails")' in again.traceback,
        "done": isinstance(again.date_done, datetime.datetime),
        "zone": again.date_done.utcoffset() == datetime.timedelta(0),
        "id": [again.task_id == result.id, again.get(timeout=WAIT, propagate=False).args == error.args],
    }
