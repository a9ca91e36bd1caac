"""A failing member fails the body with ChordError, and its errbacks are told. Rows 8.7, 8.10."""

from celery import chord, shared_task

from ..observation import WAIT, new_id, note, notes, until, wait_for_notes


@shared_task
def fail(text):
    raise ValueError(text)


@shared_task
def same(value):
    return value


@shared_task
def never(values, key):
    note(key, values)


@shared_task
def told(task_id, key):
    note(f"{key}-told", task_id)


def observe():
    key = new_id()
    body = never.s(key)
    body.link_error(told.s(key))
    result = chord([same.s(1), fail.s("no")], body).apply_async()
    error = result.get(timeout=WAIT, propagate=False, follow_parents=False)
    culprit = result.parent[1].id
    wait_for_notes(f"{key}-told")
    return {
        "state": result.state,
        "error": [type(error).__name__, str(error).replace(culprit, "CULPRIT")],
        "members": [
            until(lambda member=member: member.state, lambda s: s != "PENDING") for member in result.parent
        ],
        "ran": notes(key),
        "told": [task_id == result.id for task_id in notes(f"{key}-told")],
    }
