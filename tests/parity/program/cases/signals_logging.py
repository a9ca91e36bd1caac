"""Logging is set up and told, unless somebody listens to `setup_logging`, who does it then. Row 13.14."""

from ..own import project

OWN = """
import json
import logging
import sys

from celery import Celery, signals

app = Celery("logs", broker="memory://")
heard = []


def told(name):
    def receiver(sender=None, logger=None, loglevel=None, logfile=None, format=None, colorize=None, **more):
        heard.append([name, getattr(logger, "name", None), loglevel, logfile, bool(format), colorize])

    getattr(signals, name).connect(receiver, weak=False)


for each in ("after_setup_logger", "after_setup_task_logger"):
    told(each)
if sys.argv[1] == "own":
    told("setup_logging")
mine = logging.NullHandler()
root = logging.getLogger()
root.handlers[:] = [mine]
root.setLevel(logging.ERROR)
again = [app.log.setup_logging_subsystem(loglevel="INFO", colorize=False) for _ in range(2)]
print("SEEN", json.dumps({
    "heard": heard,
    "root": [mine in root.handlers, len(root.handlers), logging.getLevelName(root.level)],
    "again": [sorted(map(str, each)) if each else each for each in again][1:],
}))
"""


def observe():
    with project(own=OWN) as own:
        runs = {name: own.start("own.py", name) for name in ("own", "celery")}
        return {name: run.seen() for name, run in runs.items()}
