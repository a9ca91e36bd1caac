"""Arguments and results of a megabyte arrive whole. Row 7.21."""

from celery import shared_task

from ..observation import WAIT


@shared_task
def measure(text):
    return [len(text), text[::-1]]


def observe():
    text = "0123456789abcdé\n" * 65536
    length, back = measure.delay(text).get(timeout=WAIT)
    return [length == len(text), back == text[::-1]]
