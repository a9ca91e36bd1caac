"""Waiting no longer than a timeout raises Celery's own TimeoutError, and the task goes on. Row 7.4."""

from celery import shared_task
from celery.exceptions import CeleryError
from celery.exceptions import TimeoutError as CeleryTimeoutError

from ..observation import WAIT, new_id, note, wait_for_notes


@shared_task
def held(key):
    wait_for_notes(key)
    return "went on"


def observe():
    key = new_id()
    result = held.delay(key)
    caught = []
    for timeout in (0.2, 0.01):
        try:
            result.get(timeout=timeout)
        except CeleryTimeoutError as error:
            caught.append([str(error), isinstance(error, CeleryError), isinstance(error, OSError)])
    note(key, "go")
    return [caught, result.get(timeout=WAIT)]
