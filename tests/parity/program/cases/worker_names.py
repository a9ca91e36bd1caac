"""Names of workers, the queues that each works, and modules that it imports first. Row 15.3."""

import os

from ..observation import outcome
from ..own import project

OWN = """
import os

from program.own import application

queue = os.environ["PARITY_OWN_QUEUE"]
app = application(task_queues={queue + end: {} for end in ("", "-a", "-b")})


@app.task(bind=True)
def where(self):
    return [self.request.hostname, self.request.delivery_info["routing_key"].removeprefix(queue)]
"""
MORE = """
from celery import shared_task


@shared_task
def included():
    return "included"
"""


def observe():
    host = os.uname().nodename
    with project(own=OWN, more=MORE) as own:
        own.worker("-n", "alpha@%h", "-Q", f"{own.queue}-a,{own.queue}", "-c", "1", "-I", "more")
        own.worker("-n", "beta.%n@here", "-X", f"{own.queue}-a,{own.queue}", "-c", "1")
        seen = {}
        for end in ("", "-a", "-b"):
            name, queue = own.send("own.where", queue=f"{own.queue}{end}").get(timeout=20)
            seen[end] = [name.replace(host, "HOST"), queue]
        return {**seen, "included": outcome(own.send("more.included"))}
