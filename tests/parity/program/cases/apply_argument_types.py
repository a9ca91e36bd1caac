"""args must be a list or tuple and kwargs a mapping. Rows 3.2, 3.22."""

from celery import shared_task

from ..observation import raised


@shared_task
def anything(*args, **kwargs):
    return [args, kwargs]


def observe():
    return {
        "text": raised(anything.apply_async, "abc"),
        "generator": raised(anything.apply_async, (x for x in "abc")),
        "number": raised(anything.apply_async, 5)["error"],
        "pairs": raised(anything.apply_async, (), [("a", 1)])["error"],
    }
