"""The tasks of one application, by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state
from river_compat.celery.exceptions import InvalidTaskError, NotRegistered
from river_compat.celery.retries import add_autoretry
from river_compat.importing import near_misses

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task


class TaskRegistry(dict[str, "Task[..., Any]"]):
    """A dict that reports a missing name as NotRegistered and takes tasks as well as names."""

    NotRegistered = NotRegistered

    def __missing__(self, key: str) -> Task[..., Any]:
        """Raise NotRegistered, which is a KeyError."""
        raise self.NotRegistered(key)

    def register(self, task: Any) -> None:
        """Add a task, or an instance of a task's class, under its own name, with its automatic retries.

        Raises InvalidTaskError for one without a name.
        """
        if not task.name:
            raise InvalidTaskError(f"{type(task).__name__} has no name; set one before it is registered")
        instance = task() if isinstance(task, type) else task
        add_autoretry(instance, {})
        self[task.name] = instance

    def unregister(self, name: str | Task[..., Any]) -> None:
        """Remove a task by name or by itself; raises NotRegistered."""
        key = name if isinstance(name, str) else name.name
        if key not in self:
            raise self.NotRegistered(key)
        del self[key]

    def regular(self) -> Any:
        """Give name and task of those that are not periodic."""
        return self.filter_types("regular")

    def periodic(self) -> Any:
        """Give name and task of those whose attribute `type` is `periodic`."""
        return self.filter_types("periodic")

    def filter_types(self, type: str) -> Any:  # noqa: A002 - the name is Celery's
        """Give name and task of those whose attribute `type` is this."""
        return ((name, task) for name, task in self.items() if getattr(task, "type", "regular") == type)

    def near_misses(self, name: str) -> list[str]:
        """Return registered names that look like `name`."""
        return near_misses(name, self)


def _unpickle_task(name: str) -> Any:
    return _state.get_current_app().tasks[name]


def _unpickle_task_v2(name: str, module: str | None = None) -> Any:
    """Return the task of a pickle; its module is imported where the name is not known yet."""
    tasks = _state.get_current_app().tasks
    if name not in tasks and module is not None:
        import_module(module)
    return tasks[name]
