"""The request says through which queue the call came. Row 4.6."""

from celery import shared_task

from ..app import OTHER_QUEUE
from ..observation import outcome


@shared_task(bind=True)
def delivery(self):
    info = self.request.delivery_info
    return [info["exchange"], info["routing_key"], bool(info["redelivered"])]


@shared_task(bind=True, queue=OTHER_QUEUE)
def with_queue(self):
    return self.request.delivery_info["routing_key"]


def observe():
    return {
        "default": outcome(delivery.delay()),
        "call": outcome(delivery.apply_async(queue=OTHER_QUEUE)),
        "task": outcome(with_queue.delay()),
        "call_wins": outcome(with_queue.apply_async(queue="celery")),
    }
