"""Arguments that do not fit the function are refused in the caller, unless typing is off.

Rows 2.20, 3.22.
"""

from celery import shared_task

from ..observation import outcome, raised


@shared_task
def add(x, y):
    return x + y


@shared_task(bind=True)
def bound(self, x, *, flag):
    return [x, flag]


@shared_task(typing=False)
def unchecked(x):
    return x


def observe():
    return {
        "too_few": raised(add.delay, 1),
        "too_many": raised(add.delay, 1, 2, 3),
        "unknown_keyword": raised(add.delay, 1, 2, z=3),
        "twice": raised(add.apply_async, (1, 2), {"x": 3}),
        "bound": raised(bound.delay, 1),
        "bound_fits": outcome(bound.delay(1, flag=True)),
        "unchecked": {**outcome(unchecked.delay()), "value": "differs by interpreter"},
    }
