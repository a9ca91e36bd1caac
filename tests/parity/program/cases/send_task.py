"""A task is called by name without its function, and its arguments are not checked before it runs.

Row 1.20.
"""

from celery import shared_task

from ..app import OTHER_QUEUE, app
from ..observation import new_id, outcome


@shared_task(name="parity.by_name", bind=True)
def by_name(self, x, y=0):
    return [x, y, self.request.delivery_info["routing_key"]]


def observe():
    task_id = new_id()
    given = app.send_task("parity.by_name", args=[1], kwargs={"y": 2}, task_id=task_id)
    return {
        "args": outcome(given),
        "id": given.id == task_id,
        "queue": outcome(app.send_task("parity.by_name", (3,), queue=OTHER_QUEUE)),
        "not_checked": outcome(app.send_task("parity.by_name"))["state"],
    }
