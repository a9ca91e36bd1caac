"""`result` and `info` for each state that a task can be in. Row 7.3."""

from celery import shared_task
from celery.result import AsyncResult

from ..observation import WAIT, new_id, note, raised, shown, until, wait_for_notes


@shared_task(bind=True, default_retry_delay=2)
def act(self, how, key):
    if how == "progress":
        self.update_state(state="PROGRESS", meta={"done": 3, "of": [7, None]})
        note(f"{key}-set", True)
        wait_for_notes(f"{key}-go")
    if how == "retry" and not self.request.retries:
        raise self.retry(exc=LookupError("later", 2))
    if how == "fail":
        raise ValueError("no", 5)
    return [how, None, 1.5]


def seen(result):
    return [result.state, shown(result.result), shown(result.info), result.result == result.info]


def observe():
    key = new_id()
    working = act.delay("progress", key)
    wait_for_notes(f"{key}-set")
    progress = seen(AsyncResult(working.id))
    note(f"{key}-go", True)
    done = working.get(timeout=WAIT)
    failed, retried = act.delay("fail", key), act.delay("retry", key)
    failed.get(timeout=WAIT, propagate=False)
    until(lambda: AsyncResult(retried.id).state, lambda state: state == "RETRY")
    waiting = AsyncResult(retried.id)
    waits = [waiting.state, shown(waiting.result)]
    return {
        "unknown": seen(AsyncResult(new_id()))[:3],
        "progress": progress,
        "success": [done, seen(working)],
        "failure": [failed.state, shown(failed.result), shown(failed.info)],
        "retry": waits,
        "after the retry": [retried.get(timeout=WAIT), seen(AsyncResult(retried.id))],
        "kept": raised(failed.get, timeout=WAIT),
    }
