"""Results that are stored by hand are read by any handle; the first success wins. Rows 2.25, 7.22."""

from celery import shared_task
from celery.result import AsyncResult

from ..app import app
from ..observation import WAIT, new_id, shown


@shared_task(bind=True)
def stores(self, other):
    self.backend.store_result(other, {"by": "a task"}, "SUCCESS")
    return self.backend.get_state(other)


def observe():
    done, failed, retried, own, by_task = (new_id() for _ in range(5))
    app.backend.mark_as_done(done, "first")
    app.backend.mark_as_failure(done, ValueError("late"))
    app.backend.mark_as_done(done, "second")
    app.backend.mark_as_failure(failed, KeyError("k"), "the trace")
    app.backend.mark_as_retry(retried, KeyError("again"), "its trace")
    app.backend.store_result(own, {"done": 1}, "PROGRESS")
    told = stores.delay(by_task).get(timeout=WAIT)
    results = [AsyncResult(name) for name in (done, failed, retried, own, by_task)]
    app.backend.forget(done)
    return {
        "told": told,
        "states": [result.state for result in results[1:]],
        "values": [shown(result.result) for result in results[1:]],
        "traces": [result.traceback for result in results[1:3]],
        "forgotten": AsyncResult(done).state,
        "first": first_of(),
    }


def first_of():
    task_id = new_id()
    app.backend.mark_as_done(task_id, "first")
    app.backend.mark_as_failure(task_id, ValueError("late"))
    app.backend.mark_as_done(task_id, "second")
    return AsyncResult(task_id).get(timeout=1)
