"""Rows as `task.delay()` writes them, many at once, to fill a queue for a measurement."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from river_compat.celery.message import row_of
from river_compat.celery.sending import Call, message_of
from river_core import InsertParams


def rows(app: Any, task: Any, count: int, args: Sequence[Any] = ()) -> list[InsertParams]:
    """Return the rows of `count` calls of a task with the same arguments."""
    now = datetime.now(UTC)
    options = {"ignore_result": bool(task.ignore_result)}
    calls = (Call(str(uuid.uuid4()), task.name, args, {}, task, options) for _ in range(count))
    return [row_of(message_of(app, call, now), now) for call in calls]
