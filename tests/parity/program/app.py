"""The application that all cases share. The harness names broker and result backend."""

import os
import pkgutil

from celery import Celery

from . import cases

CASES = sorted(module.name for module in pkgutil.iter_modules(cases.__path__))
OTHER_QUEUE = "parity-other"
INCLUDED = f"{__package__}.included"

app = Celery(
    "parity",
    broker=os.environ["PARITY_BROKER"],
    backend=os.environ.get("PARITY_BACKEND"),
    include=[INCLUDED, *(f"{cases.__name__}.{name}" for name in CASES)],
    accept_content=["json", "yaml", "msgpack"],
    task_priority_scheme="redis",
)


@app.task
def ping():
    """Answer that a worker is there."""
    return "pong"
