"""Many calls at once: each handle gets its own result. Row 3.1."""

from celery import shared_task

from ..observation import WAIT


@shared_task
def square(x):
    return x * x


def observe():
    results = [square.delay(x) for x in range(50)]
    return {
        "values": [result.get(timeout=WAIT) for result in reversed(results)],
        "different_ids": len({result.id for result in results}),
    }
