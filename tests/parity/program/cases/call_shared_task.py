"""A shared task is called with delay and apply_async and gives its result. Rows 1.3, 3.1."""

from celery import shared_task

from ..observation import outcome


@shared_task
def add(x, y=10):
    return x + y


def observe():
    return [
        outcome(add.delay(2, 3)),
        outcome(add.delay(2, y=4)),
        outcome(add.apply_async((5,))),
        outcome(add.apply_async(kwargs={"x": 6, "y": 7})),
        outcome(add.apply_async(args=[8], kwargs={"y": 9})),
    ]
