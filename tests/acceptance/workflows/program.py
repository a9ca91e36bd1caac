"""The application that the workers run: each run of a body is a line of the ledger."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from river_compat.celery import Celery
from tests.acceptance.workflows.shapes import value_of

LEDGER = "WORKFLOWS_LEDGER"
SECONDS = 0.01

app = Celery("workflows", broker=os.environ.get("WORKFLOWS_URL"), set_as_current=False)


@app.task(bind=True)
def work(self: Any, *args: Any) -> str:
    """Note the run, take a moment, and return what the tag and the value before make."""
    tag, taken = args[-1], args[0] if len(args) > 1 else None
    line = json.dumps([tag, self.request.river_attempt, os.getpid()]) + "\n"
    ledger = os.open(os.environ[LEDGER], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(ledger, line.encode())
    finally:
        os.close(ledger)
    time.sleep(SECONDS)
    return value_of(tag, taken)
