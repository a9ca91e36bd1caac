"""Writes down, one line of JSON each, which calls are sent and how each ends, in whatever process."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from celery.signals import before_task_publish, task_postrun


class _Record:
    """A file that several processes append to; one write a line, so that lines stay whole."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, **facts: Any) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(descriptor, (json.dumps(facts) + "\n").encode())
        finally:
            os.close(descriptor)


def connect(path: Path) -> None:
    """Begin to write to the file."""
    record = _Record(path)

    def sent(sender: Any = None, headers: Any = None, **_: Any) -> None:
        record.write(kind="sent", id=headers["id"], name=headers["task"], later=bool(headers.get("eta")))

    def ended(task_id: Any = None, task: Any = None, retval: Any = None, state: Any = None, **_: Any) -> None:
        root = task.request.root_id
        record.write(
            kind="ended", id=task_id, root=root, name=task.name, state=state, value=shown(retval, state)
        )

    before_task_publish.connect(sent, weak=False)
    task_postrun.connect(ended, weak=False)


def shown(value: Any, state: str | None) -> str:
    """Return a result as text, an exception as the name of its type, and for a retry that of its cause."""
    if state == "RETRY":
        value = getattr(value, "exc", None) or value
    if isinstance(value, BaseException):
        return type(value).__name__
    return repr(value)
