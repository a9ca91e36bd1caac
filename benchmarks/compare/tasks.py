"""The tasks, once for both sides: `define(app)` is all that an application's module calls."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KEPT, IGNORED = "kept", "ignored"
"""What happens to results: the two columns of the issue, `ignore_result` off and on."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of one application."""

    noop: Any
    quiet: Any
    identity: Any
    count: Any
    now: Any
    mark: Any

    def nothing(self, results: str) -> Any:
        """Return the task that does nothing and keeps or ignores its result."""
        return self.noop if results == KEPT else self.quiet


def define(app: Any) -> Tasks:
    """Define the tasks of an application, Celery's or ours."""
    task: Callable[..., Any] = app.task

    @task(name="noop")
    def noop() -> None:
        """Do nothing."""

    @task(name="quiet", ignore_result=True)
    def quiet() -> None:
        """Do nothing, and keep no result."""

    @task(name="identity")
    def identity(value: Any) -> Any:
        """Return the argument."""
        return value

    @task(name="count")
    def count(values: list[Any]) -> int:
        """Return how many values there are."""
        return len(values)

    @task(name="now")
    def now() -> float:
        """Return the time at which the task runs, which is that of the whole machine."""
        return time.time()

    @task(name="mark", ignore_result=True)
    def mark(path: str) -> None:
        """Leave the time of this machine in a file that appears at once and whole."""
        unfinished = Path(f"{path}.{os.getpid()}")
        unfinished.write_text(repr(time.time()))
        unfinished.replace(path)

    return Tasks(noop, quiet, identity, count, now, mark)
