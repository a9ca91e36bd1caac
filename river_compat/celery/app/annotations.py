"""`task_annotations`: options given to tasks from the settings (`celery.app.annotations`).

A mapping of task name, or `*`, to attributes; objects with `annotate(task)` and `annotate_any()`; or
paths to those. An attribute `@name` is a decorator for the method of that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from river_compat.celery.utils.functional import firstmethod, mlazy
from river_compat.celery.utils.imports import instantiate

__all__ = ["MapAnnotation", "prepare", "resolve_all"]

ANY = "*"
_first_match = firstmethod("annotate")
_first_match_any = firstmethod("annotate_any")


class MapAnnotation(dict[str, Any]):
    """Attributes by the name of a task, or of any task as `*`."""

    def annotate_any(self) -> dict[str, Any] | None:
        """Return the attributes of every task, or None."""
        return dict(self[ANY]) if ANY in self else None

    def annotate(self, task: Any) -> dict[str, Any] | None:
        """Return the attributes of one task, or None."""
        return dict(self[task.name]) if task.name in self else None


def prepare(annotations: Any) -> Any:
    """Return annotations as a list of objects to ask."""
    if annotations is None:
        return ()
    items = annotations if isinstance(annotations, list | tuple) else (annotations,)
    return [_prepared(item) for item in items]


def _prepared(item: Any) -> Any:
    if isinstance(item, Mapping):
        return MapAnnotation(item)
    return mlazy(instantiate, item) if isinstance(item, str) else item


def resolve_all(anno: Any, task: Any) -> Iterator[Mapping[str, Any]]:
    """Give the attributes for a task: those of its own name first, then those of every task."""
    return (found for found in (_first_match(anno, task), _first_match_any(anno)) if found)
