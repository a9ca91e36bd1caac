"""`set` changes options of the signature itself, and the call's own win. Row 8.2."""

from celery import shared_task

from ..app import OTHER_QUEUE
from ..observation import outcome


@shared_task(bind=True)
def seen(self):
    request = self.request
    return [
        request.delivery_info["routing_key"],
        request.eta is not None,
        request.expires is not None,
        request.timelimit,
        request.headers,
    ]


def observe():
    sig = seen.s()
    options = {"queue": OTHER_QUEUE, "time_limit": 30, "headers": {"a": 1}}
    same = sig.set(**options).set(countdown=0.2) is sig
    twice = seen.s().set(queue="one").set(queue="two", priority=3)
    return {
        "same": same,
        "options": sig.options,
        "run": outcome(sig.delay()),
        "the call wins": outcome(sig.clone().apply_async(queue="celery", time_limit=20, expires=60)),
        "last wins": twice.options,
        "immutable": [twice.set(immutable=True) is twice, twice.immutable, "immutable" in twice.options],
        "after": sig.options,
    }
