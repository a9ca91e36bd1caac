"""map, starmap and chunks. Rows 3.24, 8.13, 8.14."""

from celery import shared_task

from ..observation import WAIT


@shared_task
def add(x, y):
    return x + y


@shared_task
def double(x):
    return 2 * x


def observe():
    chunked = add.chunks(((n, n) for n in range(10)), 3)()
    return {
        "map": double.map([1, 2, 3]).delay().get(timeout=WAIT),
        "starmap": add.starmap([(1, 2), (3, 4)]).apply_async().get(timeout=WAIT),
        "chunks": [chunked.get(timeout=WAIT), len(chunked)],
        "group": add.chunks([(1, 1), (2, 2), (3, 3)], 2).group()().get(timeout=WAIT),
        "texts": [repr(double.map([1, 2])), repr(add.starmap([(1, 2)]))],
    }
