"""Workflows inside workflows do not grow what is sent with each task out of proportion. Row 8.23."""

import json

from celery import chord, shared_task, signals

from ..observation import outcome


@shared_task
def plus(values, number):
    return (sum(values) if isinstance(values, list) else values) + number


@shared_task
def one():
    return 1


def workflow(depth):
    work = one.si()
    for number in range(depth):
        work = chord([work, one.si()], plus.s(number))
    return work


def sizes(depth):
    sent = []

    def measure(body=None, headers=None, **kwargs):
        sent.append(len(json.dumps(body)))

    signals.before_task_publish.connect(measure, weak=False, dispatch_uid="canvas-sizes")
    try:
        result = workflow(depth).apply_async()
    finally:
        signals.before_task_publish.disconnect(dispatch_uid="canvas-sizes")
    return outcome(result), max(sent)


def observe():
    small, large = sizes(2), sizes(6)
    return {"values": [small[0], large[0]], "in proportion": large[1] < 6 * small[1] + 2000}
