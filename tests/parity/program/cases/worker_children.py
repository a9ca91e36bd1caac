"""Children are replaced after so many tasks, and a limit of the command holds. Rows 11.15, 15.5."""

from collections import Counter

from ..observation import outcome
from ..own import project

OWN = """
import os
import time

from celery.exceptions import SoftTimeLimitExceeded
from program.own import application

app = application()


@app.task
def process():
    return os.getpid()


@app.task
def polite():
    try:
        time.sleep(30)
    except SoftTimeLimitExceeded:
        return "cleaned up"
"""
LIMITS = ("--max-tasks-per-child", "2", "--soft-time-limit", "1", "--time-limit", "20")


def observe():
    with project(own=OWN) as own:
        worker = own.worker("-c", "1", *LIMITS)
        runs = Counter(own.send("own.process").get(timeout=20) for _ in range(3))
        return {
            "children": sorted(runs.values()),
            "parent": worker.pid in runs,
            "limit": outcome(own.send("own.polite")),
            "exit": worker.stop(),
        }
