"""The broker is away for a while: the worker waits for it and goes on. Row 11.13."""

from contextlib import suppress

from celery.exceptions import TimeoutError as NoAnswer

from ..observation import outcome
from ..outage import outage
from ..own import project

TRIES = 12
OWN = """
import os

from program.own import application

app = application(broker=os.environ["THROUGH"], broker_connection_retry_on_startup=True)


@app.task
def add(x, y):
    return x + y
"""


def works_again(own):
    """Send until a task is answered: Celery on Redis may lose what it was just about to take."""
    for _ in range(TRIES):
        with suppress(NoAnswer):
            return own.send("own.add", 3, 4).get(timeout=5)
    return "nothing"


def observe():
    with project(own=OWN) as own, outage() as broker:
        worker = own.worker("-c", "1", "-l", "INFO", env={"THROUGH": broker.url})
        seen = {"before": outcome(own.send("own.add", 1, 2))}
        with broker.away():
            pass
        seen["after"] = works_again(own)
        seen["same process"] = not worker.ended()
        return {**seen, "exit": worker.stop()}
