"""apply() runs here and now and gives an EagerResult. Rows 3.23, 16.6."""

from celery import shared_task
from celery.result import EagerResult

from ..observation import new_id, raised, shown


@shared_task(bind=True)
def add(self, x, y=0):
    return [x + y, self.request.is_eager, self.request.called_directly, self.request.retries]


@shared_task
def fail():
    raise ValueError("eager")


def observe():
    task_id = new_id()
    result = add.apply((1,), {"y": 2}, task_id=task_id)
    failed = fail.apply()
    return {
        "type": isinstance(result, EagerResult),
        "id": result.id == task_id,
        "state": [result.state, result.ready(), result.successful(), result.failed()],
        "value": [repr(result.get()), repr(result.result)],
        "failed": [failed.state, failed.ready(), failed.successful(), failed.failed()],
        "error": shown(failed.result),
        "traceback": "ValueError: eager" in failed.traceback,
        "raised": raised(failed.get),
        "not_propagated": shown(failed.get(propagate=False)),
        "throw": raised(fail.apply, throw=True),
    }
