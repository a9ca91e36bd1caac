"""Rows 10.2, 13.6. At the hard limit the process ends; the handlers and `task_failure` hear of it.

Celery sends the signal twice, which nobody can want, so how often is not compared.
"""

import time
from contextlib import suppress

from celery import Task, shared_task
from celery.signals import task_failure

from ..observation import new_id, note, notes, outcome, shown, until

HEARD = {"on_failure", "after_return", "task_failure"}


class Telling(Task):
    def on_failure(self, exc, task_id, args, kwargs, einfo):
        note(args[0], ["on_failure", repr(exc), len(args), kwargs])

    def after_return(self, status, retval, task_id, args, kwargs, einfo):
        note(args[0], ["after_return", status, repr(retval)])


@shared_task(base=Telling, time_limit=1)
def stubborn(key):
    while True:
        with suppress(Exception):
            time.sleep(30)


@task_failure.connect
def heard(sender=None, exception=None, args=(), **_):
    if sender.name == stubborn.name:
        note(args[0], ["task_failure", repr(exception)])


def observe():
    key = new_id()
    result = stubborn.delay(key)
    end = {**outcome(result), "traceback": shown(result.traceback)}
    heard_of = until(lambda: notes(key), lambda found: {one[0] for one in found} == HEARD)
    return [end, sorted({repr(one) for one in heard_of})]
