"""How a worker ends: warm at TERM, cold at QUIT, a second INT, or TERM where that is remapped.

Rows 11.2, 11.8, 11.9, 15.15. What was acknowledged late runs again on the next worker.
"""

import signal

from ..observation import new_id, note, notes, outcome, wait_for_notes
from ..own import application, project, working

OWN = """
import os

from celery import signals
from program.observation import note, notes, until
from program.own import application

app = application(task_acks_late=True, worker_prefetch_multiplier=1)


@signals.worker_shutting_down.connect
def tell(sig=None, how=None, exitcode=None, **kwargs):
    note(os.environ["STOPPING"], [sig, how])


@app.task(bind=True)
def hold(self, key):
    note(key, bool(self.request.delivery_info.get("redelivered")))
    until(lambda: notes(key + "-go"), bool)
    return "held"
"""


def observe():
    first, second, stopping = new_id(), new_id(), new_id()
    env = {"STOPPING": stopping}
    with project(own=OWN) as own:

        def stops(how, *signals):
            """A worker takes the second task up and is stopped before its end."""
            runs = len(notes(second))
            worker = own.worker("-c", "1", env={**env, **how})
            wait_for_notes(second, runs + 1)
            for number in signals[:-1]:
                told = len(notes(stopping))
                worker.send_signal(number)
                wait_for_notes(stopping, told + 1)
            worker.stop(signals[-1])
            return after.state

        held = own.send("own.hold", first)
        one = own.worker("-c", "1", "-l", "INFO", env=env)
        wait_for_notes(first)
        after = own.send("own.hold", second)
        one.send_signal(signal.SIGUSR1)
        one.wait_for('File "')
        one.send_signal(signal.SIGTERM)
        wait_for_notes(stopping)
        note(first + "-go", True)
        seen = {"warm": [outcome(held), one.wait(), notes(second)]}
        seen["quit"] = stops({}, signal.SIGQUIT)
        seen["remapped"] = stops({"REMAP_SIGTERM": "SIGQUIT"}, signal.SIGTERM)
        seen["twice"] = stops({}, signal.SIGINT, signal.SIGINT)
        note(second + "-go", True)
        seen["at last"] = finish(own, after)
        return {**seen, "runs": [notes(first), notes(second)], "told": notes(stopping)}


def finish(own, result):
    app = application(task_default_queue=own.queue, task_acks_late=True, set_as_current=False)

    @app.task(name="own.hold", bind=True)
    def hold(self, key):
        note(key, bool(self.request.delivery_info.get("redelivered")))
        return "held"

    with working(app):
        return outcome(result)
