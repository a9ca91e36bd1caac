"""Options of a whole: those of a chain are its first task's, those of a group all members'. Row 8.20."""

from celery import chain, chord, group, shared_task

from ..app import OTHER_QUEUE
from ..observation import WAIT


@shared_task(bind=True)
def delayed(self, *before):
    info = self.request.delivery_info
    return [self.request.eta is not None, info["routing_key"] == OTHER_QUEUE]


@shared_task(bind=True)
def collect(self, values):
    return [values, self.request.eta is not None]


def observe():
    soon = {"countdown": 0.1}
    steps = chain(delayed.s(), delayed.s(), delayed.s()).apply_async(**soon)
    third = steps.get(timeout=WAIT)
    members = group(delayed.s(), delayed.s().set(queue=OTHER_QUEUE)).apply_async(**soon)
    whole = chord([delayed.s(), delayed.s()], collect.s()).apply_async(**soon)
    queued = group(delayed.s(), delayed.s()).apply_async(queue=OTHER_QUEUE)
    own = chain(delayed.s(), delayed.s().set(queue=OTHER_QUEUE)).apply_async()
    return {
        "chain": [steps.parent.parent.get(timeout=WAIT), steps.parent.get(timeout=WAIT), third],
        "group": members.get(timeout=WAIT),
        "chord": whole.get(timeout=WAIT),
        "queue of a group": queued.get(timeout=WAIT),
        "queue of a step": [own.parent.get(timeout=WAIT), own.get(timeout=WAIT)],
    }
