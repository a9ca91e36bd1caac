"""Nothing is stored for an ignored task that ran, whether it ended well or not, unless errors are kept.

Rows 2.7, 2.8.
"""

from celery import shared_task
from celery.result import AsyncResult

from ..observation import new_id, note, outcome, until, wait_for_notes


@shared_task(ignore_result=True)
def succeed(key):
    note(key, "ran")


@shared_task(ignore_result=True)
def fail(key):
    note(key, "ran")
    raise ValueError("not kept")


@shared_task(ignore_result=True, store_errors_even_if_ignored=True)
def fail_kept(key):
    note(key, "ran")
    raise ValueError("kept")


@shared_task
def barrier():
    return None


def state_after(task):
    key = new_id()
    result = task.delay(key)
    wait_for_notes(key)
    outcome(barrier.delay())
    return AsyncResult(result.id).state


def observe():
    kept = fail_kept.delay(new_id())
    return {
        "success": state_after(succeed),
        "failure": state_after(fail),
        "kept": until(lambda: AsyncResult(kept.id).state, lambda state: state != "PENDING"),
        "kept_error": repr(AsyncResult(kept.id).result),
    }
