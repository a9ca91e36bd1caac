"""Many calls at once: a group, chunks and a loop give every value in its place. Row 3.27."""

from celery import group, shared_task

from ..observation import WAIT

MANY = 80


@shared_task
def square(x):
    return x * x


@shared_task
def add(x, y):
    return x + y


def observe():
    grouped = group(square.s(number) for number in range(MANY)).apply_async()
    chunked = add.chunks(zip(range(MANY), range(MANY), strict=True), 20)()
    looped = [square.delay(number) for number in range(20)]
    ids = {result.id for result in [*grouped, *chunked, *looped]}
    return {
        "grouped": grouped.get(timeout=WAIT) == [number * number for number in range(MANY)],
        "chunked": chunked.get(timeout=WAIT) == [list(range(at, at + 40, 2)) for at in range(0, 160, 40)],
        "looped": [result.get(timeout=WAIT) for result in looped],
        "ids": [len(ids), len(grouped), len(chunked)],
    }
