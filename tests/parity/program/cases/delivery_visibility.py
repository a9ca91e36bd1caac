"""A task that runs for longer than `visibility_timeout` runs once. Row 11.5."""

import time

from ..observation import new_id, note, notes, outcome
from ..own import application, working


def observe():
    app = application(
        task_default_queue=new_id(),
        broker_transport_options={"visibility_timeout": 1, "global_keyprefix": "delivery-visibility"},
        worker_prefetch_multiplier=1,
        set_as_current=False,
    )

    @app.task(name="visibility.sleep")
    def sleep(key):
        note(key, True)
        time.sleep(2)  # longer than the time-out: it is what is observed
        return "slept"

    key = new_id()
    with working(app):
        return {"outcome": outcome(sleep.delay(key)), "runs": len(notes(key))}
