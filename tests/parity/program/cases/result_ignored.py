"""ignore_result on the task or in the call, which wins: no value is kept and get() returns at once.

Rows 2.7, 3.13.
"""

from celery import shared_task
from celery.result import AsyncResult

from ..observation import WAIT, new_id, note, outcome, wait_for_notes


@shared_task(ignore_result=True)
def ignoring(key):
    note(key, "ran")
    return "value"


@shared_task
def keeping(key):
    note(key, "ran")
    return "value"


def seen(task, **options):
    key = new_id()
    result = task.apply_async((key,), **options)
    return [result.get(timeout=WAIT), wait_for_notes(key)]


def observe():
    kept = ignoring.apply_async((new_id(),), ignore_result=False)
    return {
        "task": seen(ignoring),
        "call": seen(keeping, ignore_result=True),
        "call_wins": outcome(kept),
        "kept": AsyncResult(kept.id).state,
    }
