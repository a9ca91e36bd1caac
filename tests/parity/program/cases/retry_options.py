"""A retry may change queue and due time; its default delay. Rows 2.5, 5.1."""

import time
from datetime import UTC, datetime, timedelta

from celery import shared_task

from ..app import OTHER_QUEUE
from ..observation import new_id, note, notes, outcome


@shared_task(bind=True)
def moves(self, key):
    note(key, self.request.delivery_info["routing_key"])
    if self.request.retries == 0:
        raise self.retry(countdown=0, queue=OTHER_QUEUE)


@shared_task(bind=True)
def waits(self, key):
    note(key, time.time())
    if self.request.retries == 0:
        raise self.retry(eta=datetime.now(UTC) + timedelta(seconds=1))


@shared_task(bind=True, default_retry_delay=1)
def waits_by_default(self, key):
    note(key, time.time())
    if self.request.retries == 0:
        raise self.retry()


def gap(task):
    key = new_id()
    end = outcome(task.delay(key))
    first, second = notes(key)
    return [end["state"], second - first >= 1]


def observe():
    key = new_id()
    return {
        "queue": [outcome(moves.delay(key)), notes(key)],
        "eta": gap(waits),
        "default_delay": gap(waits_by_default),
        "delays": [waits.default_retry_delay, waits_by_default.default_retry_delay],
    }
