"""STARTED is reported for tasks that ask for it, PENDING for the others. Row 2.9."""

from celery import shared_task
from celery.result import AsyncResult

from ..observation import WAIT, new_id, note, wait_for_notes


@shared_task(track_started=True)
def tracked(key):
    note(f"{key}-started", True)
    wait_for_notes(f"{key}-go")
    return "end"


@shared_task
def untracked(key):
    note(f"{key}-started", True)
    wait_for_notes(f"{key}-go")
    return "end"


def observed(task):
    key = new_id()
    result = task.delay(key)
    wait_for_notes(f"{key}-started")
    again = AsyncResult(result.id)
    running = [again.state, sorted(again.info) if again.info else None, again.ready()]
    note(f"{key}-go", True)
    return [running, result.get(timeout=WAIT), result.state]


def observe():
    return [observed(tracked), observed(untracked)]
