"""What a worker does at each signal: USR1 shows its stacks, INT lets what runs end. Row 15.15."""

import signal

from ..observation import new_id, note, notes, outcome, wait_for_notes
from ..own import project

OWN = """
import os

from celery import signals
from program.observation import note, notes, until
from program.own import application

app = application()


@signals.worker_shutting_down.connect
def tell(sig=None, how=None, **kwargs):
    note(os.environ["TOLD"], [sig, how])


@app.task
def hold(key):
    note(key, "began")
    until(lambda: notes(key + "-go"), bool, 60)
    return "held"
"""


def observe():
    with project(own=OWN) as own:
        key, told = new_id(), new_id()
        worker = own.worker("-c", "1", env={"TOLD": told})
        result = own.send("own.hold", key)
        wait_for_notes(key)
        worker.send_signal(signal.SIGUSR1)
        worker.wait_for('File "')
        still = [result.state, worker.ended(), notes(told)]
        worker.send_signal(signal.SIGINT)
        heard = wait_for_notes(told)
        during = [result.state, worker.ended()]
        note(key + "-go", True)
        end = outcome(result)
        worker.wait()
        return {"USR1": still, "INT": [heard, during, end, notes(key)]}
