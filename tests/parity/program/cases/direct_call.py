"""Calling a task is calling its function. Row 2.26."""

from celery import current_task, shared_task

from ..observation import raised


@shared_task(bind=True)
def own(self, x):
    request = self.request
    return [x, request.id, request.called_directly, request.is_eager, request.retries, request.args]


@shared_task
def fail():
    raise ValueError("direct")


@shared_task
def loose(x, y=2):
    return [x, y]


def observe():
    return {
        "bound": own(1),
        "raises": raised(fail),
        "defaults": loose(1),
        "wrong_arguments": raised(loose)["error"],
        "current_task_outside": current_task is None or not current_task,
    }
