"""TERM lets what runs end, and begins nothing more: what waits is there for the next worker. Row 11.8."""

import signal

from ..observation import new_id, note, notes, outcome, wait_for_notes
from ..own import project

OWN = """
import os

from celery import signals
from program.observation import note, notes, until
from program.own import application

app = application(task_acks_late=True, worker_prefetch_multiplier=1)


@signals.worker_shutting_down.connect
def tell(sig=None, how=None, exitcode=None, **kwargs):
    note(os.environ["PARITY_OWN_QUEUE"], [sig, how, exitcode])


@app.task
def hold(key):
    note(key, "began")
    until(lambda: notes(key + "-go"), bool, 60)
    return "held"


@app.task
def quick(key):
    note(key, "ran")
    return "ran"
"""


def observe():
    with project(own=OWN) as own:
        key, later = new_id(), new_id()
        worker = own.worker("-c", "1")
        held = own.send("own.hold", key)
        wait_for_notes(key)
        waiting = own.send("own.quick", later)
        worker.send_signal(signal.SIGTERM)
        told = wait_for_notes(own.queue)
        during = [held.state, worker.ended()]
        note(key + "-go", True)
        seen = {"told": told, "during": during, "end": outcome(held), "exit": worker.wait()}
        seen["left"] = [waiting.state, notes(later)]
        own.worker("-c", "1")
        return {**seen, "next worker": outcome(waiting), "runs": [len(notes(key)), len(notes(later))]}
