"""A task that the worker does not know: a signal says so, and the worker goes on. Row 11.10."""

from celery import signals

from ..observation import new_id, note, outcome, wait_for_notes
from ..own import application, working


def observe():
    key = new_id()
    app = application(task_default_queue=new_id(), set_as_current=False)

    @app.task(name="unknown.known")
    def known():
        return "known"

    def hear(name=None, id=None, message=None, exc=None, **kwargs):  # noqa: A002 - the signal's word
        note(key, [name, id, isinstance(exc, KeyError)])

    signals.task_unknown.connect(hear)
    with working(app):
        lost = app.send_task("unknown.unknown", task_id=new_id())
        after = outcome(known.delay())
        told = wait_for_notes(key)
    signals.task_unknown.disconnect(hear)
    return {"told": [[name, task_id == lost.id, is_key] for name, task_id, is_key in told], "after": after}
