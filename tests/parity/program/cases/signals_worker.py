"""The life of a worker, from its settings to its first task. Rows 13.12, 13.13."""

import sys

from celery import signals

from ..observation import note, notes, until

KEY = "signals-worker"
NAMES = (
    "celeryd_init",
    "worker_init",
    "after_setup_logger",
    "after_setup_task_logger",
    "celeryd_after_setup",
    "worker_ready",
)


def heard(name):
    def receiver(sender=None, signal=None, **kwargs):
        if "worker" not in sys.argv:
            return  # the observing process has workers in threads, for other cases
        facts = {"signal": name, "names": sorted(kwargs), "sender": isinstance(sender, str)}
        if name == "worker_ready":
            facts["app"] = sender.app.main
        if "instance" in kwargs:
            facts["instance"] = kwargs["instance"].hostname == sender
        if "logger" in kwargs:
            facts["logger"] = kwargs["logger"].name
        note(KEY, facts)

    getattr(signals, name).connect(receiver, weak=False)


for each in NAMES:
    heard(each)


def observe():
    return until(lambda: notes(KEY), lambda seen: len(seen) >= len(NAMES))
