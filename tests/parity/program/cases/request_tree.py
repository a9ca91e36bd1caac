"""A task sent by a task knows its parent and its root. Rows 3.26, 4.1."""

from celery import shared_task
from celery.result import AsyncResult

from ..observation import WAIT, new_id


@shared_task(bind=True)
def leaf(self):
    return [self.request.id, self.request.parent_id, self.request.root_id]


@shared_task(bind=True)
def middle(self):
    return [self.request.id, self.request.parent_id, self.request.root_id, leaf.delay().id]


@shared_task(bind=True)
def top(self):
    return [self.request.id, self.request.parent_id, self.request.root_id, middle.delay().id]


def observe():
    top_id = new_id()
    first = top.apply_async(task_id=top_id).get(timeout=WAIT)
    second = AsyncResult(first[-1]).get(timeout=WAIT)
    third = AsyncResult(second[-1]).get(timeout=WAIT)
    names = {top_id: "top", first[-1]: "middle", second[-1]: "leaf", None: None}
    return [[names[task_id] for task_id in seen] for seen in (first, second, third)]
