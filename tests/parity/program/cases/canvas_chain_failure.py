"""A failing step ends all later steps with its exception. Row 8.5."""

from celery import chain, shared_task

from ..observation import WAIT, new_id, note, notes, outcome, raised, until


@shared_task
def fail(key):
    raise KeyError(key)


@shared_task
def seen(value, key):
    note(key, value)
    return value


def observe():
    key = new_id()
    result = chain(fail.s("x"), seen.s(key), seen.s(key)).apply_async()
    until(lambda: result.parent.parent.state, lambda state: state == "FAILURE")
    return {
        "last": outcome(result),
        "middle": outcome(result.parent),
        "get": raised(result.get, timeout=WAIT),
        "ran": notes(key),
    }
