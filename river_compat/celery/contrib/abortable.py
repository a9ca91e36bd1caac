"""Tasks that are asked to stop, and look whether they were (`celery.contrib.abortable`).

`abort()` writes the state ABORTED into the task's row at once; the task asks `is_aborted()` where it can
stop.
"""

from __future__ import annotations

from typing import Any

from river_compat.celery.app.task import Task
from river_compat.celery.async_result import AsyncResult

__all__ = ["AbortableAsyncResult", "AbortableTask"]

ABORTED = "ABORTED"


class AbortableAsyncResult(AsyncResult[Any]):
    """A handle that can ask its task to stop."""

    def is_aborted(self) -> bool:
        """Whether the task was asked to stop, and has not ended yet."""
        return bool(self.state == ABORTED)

    def abort(self) -> None:
        """Ask the task to stop. One that waits still starts, and may look; an ended one stays as it is."""
        self.backend.store_result(self.id, None, ABORTED)


class AbortableTask(Task[..., Any]):
    """The base of tasks that look at `is_aborted()` now and then, and end when it is true."""

    abstract = True

    def AsyncResult(self, task_id: str, **kwargs: Any) -> AbortableAsyncResult:  # noqa: N802 - Celery's name
        """Return a handle that can abort."""
        return AbortableAsyncResult(task_id, app=self.app, **kwargs)

    def is_aborted(self, **kwargs: Any) -> bool:
        """Whether this task, or that of `task_id=`, was asked to stop; one query of the database."""
        result = self.AsyncResult(kwargs.get("task_id", self.request.id))
        return isinstance(result, AbortableAsyncResult) and result.is_aborted()
