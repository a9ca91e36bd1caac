"""A child process that dies: acknowledged before, it fails once; acknowledged late, it runs again.

Rows 2.15, 11.4.
"""

import os
import signal

from celery import shared_task

from ..observation import new_id, note, notes, outcome


def began(task, key):
    note(key, [task.request.retries, bool(task.request.delivery_info.get("redelivered"))])
    return len(notes(key))


@shared_task(bind=True, acks_late=False)
def early(self, key):
    began(self, key)
    os.kill(os.getpid(), signal.SIGKILL)


@shared_task(bind=True, acks_late=True, reject_on_worker_lost=True)
def late(self, key):
    if began(self, key) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return "second run"


def observe():
    keys = new_id(), new_id()
    lost, again = early.delay(keys[0]), late.delay(keys[1])
    failed = outcome(lost)
    failed["value"] = [failed["value"]["error"], "prematurely" in failed["value"]["text"]]
    return {"early": failed, "late": outcome(again), "runs": [notes(key) for key in keys]}
