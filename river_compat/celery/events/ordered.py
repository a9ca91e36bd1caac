"""Tasks in the order of their events: a sorted list of kombu's time tuples, each with a weak reference."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from river_compat.celery.events.task import Task


def keep_sorted(entries: list[Any], entry: Any, limit: int) -> None:
    """Add an entry at its place, and drop the oldest beyond the limit."""
    if not entries or entry >= entries[-1]:
        entries.append(entry)
    else:
        insort(entries, entry)
    del entries[: max(len(entries) - limit, 0)]


def by_time(entries: list[Any], newest_first: bool) -> list[tuple[str, Task]]:
    """Return each task once with its id, at the place of its newest entry or of its oldest one."""
    found: dict[str, Task] = {}
    for entry in reversed(entries) if newest_first else list(entries):
        task = entry[3]()
        if task is not None:
            found.setdefault(task.uuid, task)
    return list(found.items())
