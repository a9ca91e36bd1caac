"""The caller may choose the task id; a handle made from that id alone sees the result. Rows 3.6, 7.1."""

from celery import shared_task
from celery.result import AsyncResult

from ..app import app
from ..observation import new_id, outcome


@shared_task(bind=True)
def own_id(self):
    return self.request.id


def observe():
    task_id = new_id()
    result = own_id.apply_async(task_id=task_id)
    return {
        "id": result.id == task_id,
        "task_id": result.task_id == task_id,
        "seen_inside": result.get(timeout=60) == task_id,
        "from_id": outcome(AsyncResult(task_id))["state"],
        "from_app": outcome(app.AsyncResult(task_id))["state"],
        "from_task": outcome(own_id.AsyncResult(task_id))["state"],
        "odd_id": outcome(own_id.apply_async(task_id=f"{task_id} ünï/côdé"))["state"],
    }
