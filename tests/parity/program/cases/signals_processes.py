"""The life of a worker with two processes, from its start to TERM, as receivers hear it. Row 13.12."""

import signal

from ..observation import new_id, notes, until
from ..own import project

OWN = """
import os

from celery import signals
from program.observation import note
from program.own import application

app = application()
MAIN = ("celeryd_init", "worker_init", "celeryd_after_setup", "worker_ready", "worker_shutting_down",
        "worker_shutdown")


def heard(name):
    def receiver(sender=None, **kwargs):
        facts = [name]
        if name == "worker_shutting_down":
            facts += [kwargs["sig"], kwargs["how"], kwargs["exitcode"]]
        if name == "celeryd_init":
            facts += [sender, kwargs["conf"] is app.conf]
        note(os.environ["HEARD"], facts)

    getattr(signals, name).connect(receiver, weak=False)


for each in MAIN:
    heard(each)


@signals.worker_process_init.connect
def begins(**kwargs):
    note(os.environ["HEARD"] + "-begun", os.getpid())


@signals.worker_process_shutdown.connect
def ends(pid=None, exitcode=None, **kwargs):
    note(os.environ["HEARD"] + "-ended", pid)


@app.task
def where():
    return os.getpid()
"""


def observe():
    heard = new_id()
    with project(own=OWN) as own:
        worker = own.worker("-c", "2", "-n", "life@here", env={"HEARD": heard})
        begun = until(lambda: notes(f"{heard}-begun"), lambda seen: len(seen) >= 2)
        ran_in = own.send("own.where").get(timeout=20)
        worker.send_signal(signal.SIGTERM)
        code = worker.wait()
        ended = notes(f"{heard}-ended")
        return {
            "main": notes(heard),
            "children": [len(begun), len(set(begun)), worker.pid in begun, ran_in in begun],
            "ended": [sorted(ended) == sorted(begun), len(set(ended))],
            "exit": code,
        }
