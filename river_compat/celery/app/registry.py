"""The tasks of one application, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from river_compat.celery.exceptions import NotRegistered
from river_compat.importing import near_misses

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task


class TaskRegistry(dict[str, "Task[..., Any]"]):
    """A dict that reports a missing name as NotRegistered and takes tasks as well as names."""

    NotRegistered = NotRegistered

    def __missing__(self, key: str) -> Task[..., Any]:
        """Raise NotRegistered, which is a KeyError."""
        raise self.NotRegistered(key)

    def register(self, task: Task[..., Any]) -> None:
        """Add a task under its own name."""
        if not task.name:
            raise ValueError(f"{task!r} has no name; set one before it is registered")
        self[task.name] = task

    def unregister(self, name: str | Task[..., Any]) -> None:
        """Remove a task by name or by itself; raises NotRegistered."""
        key = name if isinstance(name, str) else name.name
        if key not in self:
            raise self.NotRegistered(key)
        del self[key]

    def near_misses(self, name: str) -> list[str]:
        """Return registered names that look like `name`."""
        return near_misses(name, self)
