"""Priority and routing as options of a task and of a call. Rows 2.18, 3.8, 3.9."""

import os

from celery import Celery, shared_task
from kombu import Exchange, Queue

from ..app import OTHER_QUEUE
from ..observation import outcome


def delivery(request):
    info = request.delivery_info
    return [info["routing_key"], info["priority"] or 0]  # None or 0 where none was given: brokers differ


@shared_task(bind=True)
def seen(self):
    return delivery(self.request)


@shared_task(bind=True, priority=6, queue=OTHER_QUEUE)
def declared(self):
    return delivery(self.request)


@shared_task(bind=True, exchange=OTHER_QUEUE, routing_key=OTHER_QUEUE, delivery_mode=1)
def bound(self):
    return self.request.delivery_info["routing_key"]


def bindings():
    app = Celery(
        "bindings",
        broker=os.environ["PARITY_BROKER"],
        backend=os.environ.get("PARITY_BACKEND"),
        set_as_current=False,
        task_queues=[Queue("celery"), Queue(OTHER_QUEUE, Exchange(OTHER_QUEUE), routing_key=OTHER_QUEUE)],
    )
    options = {"exchange": OTHER_QUEUE, "routing_key": OTHER_QUEUE}
    return {
        "default": outcome(app.send_task(seen.name)),
        "binding": outcome(app.send_task(seen.name, **options)),
        "object": outcome(app.send_task(seen.name, exchange=Exchange(OTHER_QUEUE), routing_key=OTHER_QUEUE)),
        "typed": outcome(app.send_task(seen.name, exchange_type="direct", **options)),
        "queue_wins": outcome(app.send_task(seen.name, queue="celery")),
    }


def observe():
    return {
        "priorities": [outcome(seen.apply_async(priority=number)) for number in (None, 0, 3, 9)],
        "declared": [outcome(declared.delay()), outcome(declared.apply_async(priority=2, queue="celery"))],
        "bound": outcome(bound.delay()),
        "bindings": bindings(),
    }
