"""Exception arguments that JSON cannot hold come back as text. Row 7.6."""

from celery import shared_task

from ..observation import WAIT


class Thing:
    def __repr__(self):
        return "<a thing>"


@shared_task
def fail_object():
    raise ValueError(Thing())


@shared_task
def fail_mixed():
    raise KeyError("key", 1, None)


@shared_task
def fail_bytes():
    raise ValueError(b"bytes", (1, 2))


def observe():
    seen = []
    for task in (fail_object, fail_mixed, fail_bytes):
        result = task.delay()
        error = result.get(timeout=WAIT, propagate=False)
        seen.append([result.state, type(error).__name__, [repr(arg) for arg in error.args]])
    return seen
