"""How a worker ends at once: cold at QUIT, a second INT, or TERM where that is remapped.

Rows 11.2, 11.9. What was acknowledged late runs again on the next worker.
"""

import signal

from ..observation import new_id, note, notes, outcome, wait_for_notes
from ..own import application, project, working

# A prefix, since Celery on Redis gives back what any worker of the database has not acknowledged for so long.
TRANSPORT = {"visibility_timeout": 3600, "global_keyprefix": "delivery-shutdown"}
OWN = """
import os

from celery import signals
from program.cases.delivery_shutdown import TRANSPORT
from program.observation import note, notes, until
from program.own import application

app = application(task_acks_late=True, worker_prefetch_multiplier=1, broker_transport_options=TRANSPORT)


@signals.worker_shutting_down.connect
def tell(sig=None, how=None, exitcode=None, **kwargs):
    note(os.environ["STOPPING"], [sig, how])


@app.task(bind=True)
def hold(self, key):
    note(key, bool(self.request.delivery_info.get("redelivered")))
    until(lambda: notes(key + "-go"), bool, 60)
    return "held"
"""
COLD = {
    "quit": ({}, [signal.SIGQUIT]),
    "remapped": ({"REMAP_SIGTERM": "SIGQUIT"}, [signal.SIGTERM]),
    "twice": ({}, [signal.SIGINT, signal.SIGINT]),
}


class Stopped:
    """A worker that has begun a task on a queue of its own."""

    def __init__(self, own, name, **env):
        self.key, self.stopping, self.queue = new_id(), new_id(), f"{own.queue}-{name}"
        self.result = own.send("own.hold", self.key, queue=self.queue)
        options = ("-Q", self.queue, "-n", f"{name}@here", "-c", "1")
        self.worker = own.worker(*options, env={"STOPPING": self.stopping, **env})
        wait_for_notes(self.key)

    def stop(self, signals):
        """Send the signals, each when the one before was heard."""
        for count, number in enumerate(signals, 1):
            self.worker.send_signal(number)
            told = wait_for_notes(self.stopping, count)
        return told


def observe():
    with project(own=OWN) as own:
        own.app.conf.broker_transport_options = TRANSPORT
        return cold(own)


def cold(own):
    stopped = {name: Stopped(own, name, **env) for name, (env, _) in COLD.items()}
    told = {name: stopped[name].stop(signals) for name, (_, signals) in COLD.items()}
    for each in stopped.values():
        each.worker.wait()
    before = {name: each.result.state for name, each in stopped.items()}
    run_again(own, [each.queue for each in stopped.values()])
    again = {name: [outcome(each.result), notes(each.key)] for name, each in stopped.items()}
    return {"told": told, "before": before, "again": again}


def run_again(own, queues):
    app = application(
        task_default_queue=queues[0],
        task_acks_late=True,
        broker_transport_options={**TRANSPORT, "visibility_timeout": 1},
        set_as_current=False,
    )

    @app.task(name="own.hold", bind=True)
    def hold(self, key):
        note(key, bool(self.request.delivery_info.get("redelivered")))
        note(own.queue, key)
        return "held"

    with working(app, queues=queues):
        wait_for_notes(own.queue, len(queues))
