"""What a handle says before and after success. Rows 7.2, 7.3."""

from celery import shared_task
from celery.result import AsyncResult

from ..observation import WAIT, new_id, note, until, wait_for_notes


@shared_task
def held(key):
    note(f"{key}-started", True)
    wait_for_notes(f"{key}-go")
    return {"done": True}


def seen(result):
    return {
        "state": result.state,
        "status": result.status,
        "ready": result.ready(),
        "successful": result.successful(),
        "failed": result.failed(),
        "result": repr(result.result),
        "info": repr(result.info),
        "traceback": repr(result.traceback),
    }


def observe():
    key = new_id()
    result = held.delay(key)
    wait_for_notes(f"{key}-started")
    running = seen(result)
    note(f"{key}-go", True)
    value = result.get(timeout=WAIT)
    return {
        "running": running,
        "value": repr(value),
        "done": seen(result),
        "again": repr(result.get(timeout=WAIT)),
        "other_handle": seen(AsyncResult(result.id)),
        "date_done": until(lambda: result.date_done, lambda done: done is not None).tzinfo is not None,
    }
