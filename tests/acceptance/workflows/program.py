"""The application that the workers run; each begin and each end of a body is a line of the ledger."""

from __future__ import annotations

import os
import time
from typing import Any

from river_compat.celery import Celery, chain, chord, group
from tests.acceptance.workflows.forecast import value_of
from tests.acceptance.workflows.ledger import Run, write_run

SECONDS = 0.005

app = Celery("workflows", broker=os.environ.get("WORKFLOWS_URL"), set_as_current=False)


class BoomError(Exception):
    """What a task fails with."""


@app.task(name="work")
def work(*args: Any) -> str:
    """Return what the tag and the value before make; a list calls it many times in one run."""
    tag = args[-1]
    _run(tag)
    return value_of(tag, args[0] if len(args) > 1 else None)


@app.task(name="fail")
def fail(*args: Any) -> None:
    """Fail with the tag."""
    _run(args[-1])
    raise BoomError(args[-1])


@app.task(bind=True, name="retried")
def retried(self: Any, *args: Any) -> str:
    """Ask for one more run, and return then what `work` returns."""
    if not self.request.retries:
        _run(f"{args[-1]}/retry")
        raise self.retry(countdown=0)
    return work(*args)


@app.task(bind=True, name="swap")
def swap(self: Any, *args: Any) -> Any:
    """Put a workflow in its own place that begins with what was given."""
    *taken, how, tag = args
    _run(tag)
    first, second, third = (f"{tag}/{number}" for number in range(3))
    begin = work.si(*taken, first)
    shapes = {
        "task": lambda: begin,
        "chain": lambda: chain(begin, work.s(second)),
        "broken": lambda: chain(begin, fail.s(second)),
        "group": lambda: group(begin, work.si(*taken, second)),
        "chord": lambda: chord([begin, work.si(*taken, second)], work.s(third)),
    }
    return self.replace(shapes[how]())


@app.task(name="called_back")
def called_back(value: Any, tag: str) -> None:
    """Follow a task that succeeded."""
    _run(f"called {tag}")


@app.task(name="told_of_error")
def told_of_error(task_id: str, tag: str) -> None:
    """Follow a task that failed, by its id."""
    _run(f"told {tag}")


def _run(key: str) -> None:
    """Take a moment between two lines of the ledger."""
    request = app.current_worker_task.request
    run = Run(key, request.river_job_id, request.river_attempt, os.getpid(), os.environ["WORKFLOWS_WORKER"])
    write_run(run, "begin")
    time.sleep(SECONDS)
    write_run(run, "end")
