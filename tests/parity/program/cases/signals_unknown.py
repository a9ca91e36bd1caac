"""A task that the worker does not know is told. Row 13.10."""

from celery import signals

from ..app import app
from ..observation import new_id, note, wait_for_notes

NAME = "parity.nobody.knows.this"


@signals.task_unknown.connect
def unknown(name=None, exc=None, message=None, **kwargs):
    if name == NAME:
        note(kwargs["id"], [isinstance(exc, KeyError), message is not None, sorted(kwargs)])


def observe():
    task_id = new_id()
    app.send_task(NAME, task_id=task_id)
    return wait_for_notes(task_id)[:1]
