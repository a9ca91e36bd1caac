"""The result is stored when the success is told. Rows 13.3, 13.5."""

from celery import shared_task, signals

from ..observation import new_id, note, wait_for_notes

NAME = "parity.signals_stored.work"


@shared_task(bind=True, name=NAME)
def work(self, key):
    return key


@signals.task_received.connect
def received(request=None, **kwargs):
    if request.name == NAME:
        note(request.id, ["received", request.task_name])


@signals.task_success.connect
def succeeded(sender=None, result=None, **kwargs):
    if sender.name == NAME:
        note(result, ["success", sender.AsyncResult(sender.request.id).state])


def observe():
    key, task_id = new_id(), new_id()
    work.apply_async((key,), task_id=task_id)
    return [wait_for_notes(key), wait_for_notes(task_id)]
