"""A request may be made up in a test, and the current task is known. Rows 4.11, 4.12."""

from celery import current_task, shared_task

from ..app import app
from ..observation import WAIT, shown


@shared_task(bind=True)
def look(self):
    tasks = (current_task, app.current_task, app.current_worker_task)
    return [task.name == self.name for task in tasks]


def observe():
    look.push_request(id="made-up", args=(1,), retries=2)
    try:
        pushed = [look.request.id, list(look.request.args), look.request.retries, look.request_stack.top.id]
    finally:
        look.pop_request()
    return {
        "pushed": pushed,
        "after": [look.request.id, shown(look.request.args), look.request.called_directly],
        "outside": [bool(current_task), shown(app.current_task)],
        "inside": look.delay().get(timeout=WAIT),
    }
