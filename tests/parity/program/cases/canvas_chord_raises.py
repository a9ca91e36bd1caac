"""What `get()` raises of a chord whose header fails while it waits, and after that. Rows 8.7, 7.2."""

import time

from celery import chord, group, shared_task

from ..observation import WAIT, new_id, note, raised, until, wait_for_notes


class GatewayError(Exception):
    pass


@shared_task
def add(x, y):
    return x + y


@shared_task
def total(numbers):
    return sum(numbers)


@shared_task
def fails():
    raise GatewayError("the gateway said no")


@shared_task
def fails_later(key):
    note(key, "began")
    time.sleep(0.5)
    raise GatewayError("the gateway said no, later")


def observe():
    key = new_id()
    fast = chord([add.s(1, 1), fails.si()])(total.s())
    seen = {"chord": raised(fast.get, timeout=WAIT), "again": raised(fast.get, timeout=WAIT)}
    seen["group"] = raised((group(add.s(1, 1), fails.si()) | total.s()).delay().get, timeout=WAIT)
    slow = chord([add.s(1, 1), fails_later.si(key)])(total.s())
    wait_for_notes(key)
    seen["slow"] = raised(slow.get, timeout=WAIT)
    ended = chord([add.s(1, 1), fails.si()])(total.s())
    until(ended.ready, bool)
    seen["ended"] = raised(ended.get, timeout=WAIT)
    seen["own"] = type(ended.get(timeout=WAIT, propagate=False)).__name__
    unfollowed = chord([add.s(1, 1), fails.si()])(total.s())
    until(unfollowed.ready, bool)
    seen["unfollowed"] = raised(unfollowed.get, timeout=WAIT, follow_parents=False)["error"]
    return seen
