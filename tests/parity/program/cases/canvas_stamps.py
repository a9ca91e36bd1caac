"""Stamps reach the request of every task, linked ones and retries too. Row 8.19."""

from celery import chain, shared_task
from celery.canvas import StampingVisitor

from ..observation import WAIT, new_id, note, wait_for_notes


@shared_task(bind=True)
def seen(self, *args):
    if self.request.retries == 0 and args and args[-1] == "retry":
        raise self.retry(countdown=0)
    return [sorted(self.request.stamped_headers or ()), self.request.stamps]


@shared_task(bind=True)
def heard(self, value, key):
    note(key, [sorted(self.request.stamped_headers or ()), self.request.stamps])


class Visitor(StampingVisitor):
    def on_signature(self, sig, **headers):
        return {"tenant": "acme"}

    def on_callback(self, callback, **headers):
        return {"linked": True}


def observe():
    key = new_id()
    sig = seen.si("retry")
    sig.link(heard.s(key))
    sig.stamp(Visitor())
    plain = seen.si()
    plain.stamp(color="red")
    work = chain(seen.si(), seen.si())
    work.stamp(Visitor())
    result = work.apply_async()
    return {
        "retried": sig.apply_async().get(timeout=WAIT),
        "linked": wait_for_notes(key),
        "plain": plain.apply_async().get(timeout=WAIT),
        "chain": [result.get(timeout=WAIT), result.parent.get(timeout=WAIT)],
    }
