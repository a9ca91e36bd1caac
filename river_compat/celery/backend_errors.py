"""Errors about results that cannot be read or written. `celery.exceptions` has their names."""

from __future__ import annotations

from typing import Any


class BackendError(Exception):
    """A result could not be read or written."""


class BackendGetMetaError(BackendError):
    """A result could not be read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Keep the task's id, given as `task_id`."""
        self.task_id = kwargs.get("task_id", "")

    def __repr__(self) -> str:
        """Name the task."""
        return f"{super().__repr__()} task_id:{self.task_id}"


class BackendStoreError(BackendError):
    """A result could not be written."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Keep the task's id and state, given as `task_id` and `state`."""
        self.state = kwargs.get("state", "")
        self.task_id = kwargs.get("task_id", "")

    def __repr__(self) -> str:
        """Name the task and the state."""
        return f"{super().__repr__()} state:{self.state} task_id:{self.task_id}"
