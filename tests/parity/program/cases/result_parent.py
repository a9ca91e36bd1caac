"""A parent's failure is raised first, unless parents are not followed. Rows 7.4, 7.5."""

from celery import shared_task

from ..observation import WAIT, outcome, raised, shown


@shared_task
def fails():
    raise ZeroDivisionError("the parent")


@shared_task
def one():
    return 1


def observe():
    parent, child = fails.delay(), one.delay()
    outcome(parent)
    child.parent = parent
    callbacks = []
    return {
        "followed": raised(child.get, timeout=WAIT),
        "left alone": child.get(timeout=WAIT, follow_parents=False),
        "wait": shown(one.delay().wait(timeout=WAIT)),
        "callback": [one.delay().get(timeout=WAIT, callback=lambda i, v: callbacks.append(v)), callbacks],
    }
