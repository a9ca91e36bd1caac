"""The queue that a call names: by its name, as an object, on the task, in its signature. Row 3.7."""

from celery import shared_task
from kombu import Queue

from ..app import OTHER_QUEUE, app
from ..observation import new_id, note, notes, outcome


@shared_task(bind=True)
def where(self, key=None):
    if key:
        note(key, "ran")
    return self.request.delivery_info["routing_key"]


@shared_task(bind=True, queue=OTHER_QUEUE)
def elsewhere(self):
    return self.request.delivery_info["routing_key"]


def observe():
    key = new_id()
    nobody = where.apply_async((key,), queue=new_id())
    seen = {
        "default": where.delay(),
        "named": where.apply_async(queue=OTHER_QUEUE),
        "object": where.apply_async(queue=Queue(OTHER_QUEUE)),
        "of the task": elsewhere.delay(),
        "the call wins": elsewhere.apply_async(queue="celery"),
        "none given": where.apply_async(queue=None),
        "signature": where.s().set(queue=OTHER_QUEUE).delay(),
        "signature's call wins": where.s().set(queue=OTHER_QUEUE).apply_async(queue="celery"),
        "by name": app.send_task(where.name, queue=OTHER_QUEUE),
        "by name, of the task": app.send_task(elsewhere.name),
    }
    values = {name: outcome(result) for name, result in seen.items()}
    return {**values, "nobody's": [nobody.state, nobody.ready(), notes(key)]}
