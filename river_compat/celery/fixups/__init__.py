"""What an application does by itself where a framework is in use (`celery.fixups`).

A fixup names the packages in which tasks are looked for, prepares before they are imported, and is told of
each task that a worker begins and ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery


class Fixup(Protocol):
    """One framework's part in an application."""

    def autodiscover_tasks(self) -> list[str]:
        """Return the packages in which a bare `app.autodiscover_tasks()` looks."""
        ...

    def before_imports(self) -> None:
        """Prepare for the import of task modules in a worker."""
        ...

    def task_begins(self) -> None:
        """Called before each task, where it runs."""
        ...

    def task_ends(self) -> None:
        """Called after each task, where it ran."""
        ...


def install(app: Celery) -> list[Fixup]:
    """Return the fixups that this process calls for."""
    from river_compat.celery.fixups.django import fixup

    found = fixup(app)
    return [] if found is None else [found]


@contextmanager
def around_task(fixups: Sequence[Fixup]) -> Iterator[None]:
    """Tell the fixups that a task begins, and that it has ended."""
    for fixup in fixups:
        fixup.task_begins()
    try:
        yield
    finally:
        for fixup in reversed(fixups):
            fixup.task_ends()
