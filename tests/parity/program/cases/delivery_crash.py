"""A worker that is killed with its processes: what it had not acknowledged runs again. Rows 11.1, 11.2."""

from contextlib import ExitStack

from ..observation import new_id, note, outcome, wait_for_notes
from ..own import project

# A prefix, since Celery on Redis gives back what any worker of the database has not acknowledged for so long.
# The rest lets it look every second, and not wait for a lock that the killed worker may have held.
TRANSPORT = {
    "visibility_timeout": 1,
    "unacked_restore_interval": 1,
    "unacked_restore_throttle": 1,
    "unacked_mutex_expire": 2,
    "global_keyprefix": "delivery-crash",
}
OWN = """
from program.cases.delivery_crash import TRANSPORT
from program.observation import note, notes, until
from program.own import application

app = application(broker_transport_options=TRANSPORT, worker_prefetch_multiplier=1)


@app.task(bind=True, acks_late=True)
def hold(self, key):
    note(key, bool(self.request.delivery_info.get("redelivered")))
    until(lambda: notes(key + "-go"), bool, 60)
    return "held"
"""


def begin():
    """Kill the first worker, and start the second one, which needs a while to be sure of that."""
    stack, key = ExitStack(), new_id()
    own = stack.enter_context(project(own=OWN))
    own.app.conf.broker_transport_options = TRANSPORT
    result = own.send("own.hold", key)
    worker = own.worker("-c", "1")
    wait_for_notes(key)
    worker.kill()
    own.worker("-c", "1")
    return stack, key, result


def observe(begun):
    stack, key, result = begun
    with stack:
        runs = wait_for_notes(key, 2)[:2]  # on a busy machine Celery on Redis gives it back once more
        note(key + "-go", True)
        return {"outcome": outcome(result), "redelivered": runs}
