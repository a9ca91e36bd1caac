"""A custom __call__ wraps the body in the worker and when called directly. Row 2.26."""

from celery import Task, shared_task

from ..observation import outcome


class Wrapping(Task):
    def __call__(self, *args, **kwargs):
        return ["before", super().__call__(*args, **kwargs), "after"]


@shared_task(base=Wrapping)
def wrapped(x):
    return x


def observe():
    return {"worker": outcome(wrapped.delay(1)), "direct": wrapped(2)}
