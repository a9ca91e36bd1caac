"""Row 12.3. An id is revoked before anybody sends it; so is a list of ids."""

from celery import current_app, shared_task

from ..observation import new_id, note, notes, outcome, until


@shared_task
def told(key):
    note(key, "ran")


def known():
    return {item for ids in (current_app.control.inspect().revoked() or {}).values() for item in ids}


def observe():
    key, ids = new_id(), [new_id(), new_id()]
    current_app.control.revoke(ids)
    until(known, lambda found: found.issuperset(ids))
    results = [told.apply_async((key,), task_id=task_id) for task_id in ids]
    return {"outcomes": [outcome(result) for result in results], "ran": notes(key)}
