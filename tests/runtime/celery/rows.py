"""Rows of tasks as they are stored, for tests that look behind the results."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any

from river_compat.celery import Celery
from river_compat.envelope import KIND
from river_core.client import Client
from river_core.insert import EncodedArgs
from river_core.job import FINAL_STATES, JobRow
from river_core.task_rows import find_by_task_id, get_row
from tests.runtime.workers import wait_for

ALL = 100
TASK_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
ARGUMENTS: list[Any] = [
    "a",
    'q"uo\\te',
    "ä€😀",
    "",
    None,
    1.5,
    1e22,
    [1, {"k": [2]}],
    "x" * 3000,
    date(2026, 1, 2),
]
"""Arguments whose texts a row may get wrong."""


def rows_of(app: Celery, task_id: str) -> list[JobRow]:
    """Every row of a task, oldest first."""
    return sorted(find_by_task_id(app.runtime.driver, task_id, ALL), key=lambda row: row.id)


def finished(app: Celery, task_id: str) -> JobRow:
    """The one row of a task, once it is final."""
    return wait_for(
        lambda: next((row for row in rows_of(app, task_id) if row.state in FINAL_STATES), None), task_id
    )


def final_row(app: Celery, row_id: int) -> JobRow:
    """A row by its own id, once it is final."""

    def look() -> JobRow | None:
        row = get_row(app.runtime.driver, row_id)
        return row if row is not None and row.state in FINAL_STATES else None

    return wait_for(look, f"the end of job {row_id}")


def insert_envelope(app: Celery, envelope: Any, queue: str = "celery") -> int:
    """Insert a row of our kind as another program may write it; return its id."""
    args = EncodedArgs(KIND, json.dumps(envelope))
    return Client(app.runtime.driver).insert(args, queue=queue).job.id
