"""Nobody answers where tasks are to be sent: `delay` raises after its tries, a beat goes on.

Rows 11.12, 14.13.
"""

import os

import kombu.exceptions
from celery.beat import Scheduler, SchedulingError

from ..own import application

POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.01, "interval_max": 0.01}


class Sudden(Scheduler):
    def setup_schedule(self):
        """Take no entries of the settings."""


def observe():
    app = application(
        broker=os.environ["PARITY_UNREACHABLE"],
        backend=None,
        task_publish_retry_policy=POLICY,
        broker_connection_timeout=1,
        broker_transport_options=POLICY,
        set_as_current=False,
    )

    @app.task(name="unreachable.add")
    def add(x, y):
        return x + y

    def error(call):
        try:
            call()
        except (kombu.exceptions.OperationalError, SchedulingError) as found:
            return [isinstance(found, kombu.exceptions.OperationalError), isinstance(found, SchedulingError)]
        return "nothing"

    seen = {"delay": error(lambda: add.delay(1, 2)), "send": error(lambda: app.send_task("unreachable.x"))}
    seen["without retry"] = error(lambda: add.apply_async((1, 2), retry=False))
    scheduler = Sudden(app=app)
    due = app.now().replace(year=2020)
    entry = scheduler.add(name="one", task=add.name, schedule=3600, args=(1, 2), last_run_at=due)
    seen["beat"] = error(lambda: scheduler.apply_async(entry, advance=False))
    seen["entry"] = error(lambda: scheduler.apply_entry(entry))
    return seen
