"""What a worker is told on its command line.

Rows 14.12, 15.8, 15.9.
"""

import os

from celery.exceptions import SoftTimeLimitExceeded

from ..observation import new_id, notes, outcome, until, wait_for_notes
from ..own import project

OWN = """
import os
import time

from program.observation import note
from program.own import application

queue = os.environ["PARITY_OWN_QUEUE"]
app = application(task_queues={queue: {}, queue + "-other": {}})
app.conf.beat_schedule = {"tick": {"task": "own.tick", "schedule": 1.0}}


@app.task
def tick():
    note(queue + "-ticks", True)


@app.task
def waited(key):
    note(key, "ran")


@app.task(bind=True)
def where(self):
    return [os.getpid(), self.request.hostname]


@app.task
def sleep():
    time.sleep(30)
"""
MORE = """
from celery import shared_task


@shared_task
def included():
    return "included"
"""


def observe():
    with project(own=OWN, more=MORE) as own:
        old, host = new_id(), os.uname().nodename
        own.send("own.waited", old)
        files = ("-f", "log-%n.txt", "--pidfile", "%n.pid", "-s", "beat", "-S", "state")
        limits = ("--time-limit", "20", "--soft-time-limit", "2", "--max-tasks-per-child", "1")
        worker = own.worker(
            *("-l", "info", "-n", "w1@%h", "-I", "more", "-X", f"{own.queue}-other", "-c", "2", "-B", "-E"),
            *("--purge", *files, *limits),
        )
        seen = {"pidfile": (own.directory / "w1.pid").read_text().strip() == str(worker.pid)}
        slow = own.send("own.sleep")
        seen["included"] = outcome(own.send("more.included"))
        runs = [own.send("own.where").get(timeout=60) for _ in range(3)]
        seen["names"] = [name == f"w1@{host}" for _, name in runs]
        seen["processes"] = len({pid for pid, _ in runs})
        excluded = own.send("own.where", queue=f"{own.queue}-other")
        seen["limit"] = isinstance(slow.get(timeout=60, propagate=False), SoftTimeLimitExceeded)
        seen["ticks"] = len(wait_for_notes(f"{own.queue}-ticks", 2)) >= 2
        log = own.directory / "log-w1.txt"
        until(lambda: log.read_text(), lambda text: "more.included" in text and "own.where" in text)
        seen["left"] = [excluded.state, notes(old)]
        return {**seen, "exit": worker.stop(), "pidfile after": (own.directory / "w1.pid").exists()}
