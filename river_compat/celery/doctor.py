"""What would go wrong with an application after a move, found before anything runs.

A finding is something that would be lost or would not run; a note says what takes another one's place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from river_compat.celery.beat_schedulers import scheduler_class
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.message import FRAMEWORK
from river_compat.celery.redbeat_entries import EntriesUnknown, entries_in_redis
from river_core.task_rows import count_unfinished

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

_REPLACED = {
    "celery": "{0} means the scheduler here: last runs are rows of the database, {1!r} is not read, "
    "and an entry is first due one interval after the first start",
    "django_celery_beat": "{0} runs here as it is: its tables are the schedule",
}
"""By the package of a `beat_scheduler`: what becomes of it, with its name and the name of Celery's file."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found: what it is about, a sentence, and what would be lost."""

    about: str
    text: str
    lost: tuple[str, ...] = ()
    is_note: bool = False

    def __str__(self) -> str:
        """Give the line for people."""
        lost = f"; lost: {', '.join(self.lost)}" if self.lost else ""
        return f"{'note' if self.is_note else 'finding'}: {self.text}{lost}"


def examine_scheduler(app: Celery, scheduler: str | None = None) -> Iterator[Finding]:
    """Say what becomes of the scheduler of the settings, or of the one that is named.

    One that cannot work here is a finding, with the entries that only it has.
    """
    given = scheduler or app.conf.beat_scheduler
    try:
        scheduler_class(given)
    except ImproperlyConfigured as error:
        yield Finding("beat_scheduler", *_lost(app, str(given), str(error)))
        return
    replaced = _REPLACED.get(str(given).replace(":", ".").partition(".")[0])
    if replaced is not None and (scheduler or app.conf.beat_schedule or "django" in str(given)):
        text = replaced.format(given, app.conf.beat_schedule_filename)
        yield Finding("beat_scheduler", text, is_note=True)


def _lost(app: Celery, given: str, text: str) -> tuple[str, tuple[str, ...]]:
    if "redbeat" not in given:
        return text, ()
    try:
        return text, tuple(entries_in_redis(app))
    except EntriesUnknown as reason:
        return f"{text}; entries that are in Redis alone would be lost: {reason}", ()


def examine_tasks(app: Celery) -> Iterator[Finding]:
    """Find the tasks that have not ended and that no module of the application defines.

    Task modules must be imported. Raises DatabaseError.
    """
    for name, count in count_unfinished(app.runtime.driver, FRAMEWORK).items():
        if name not in app.tasks:
            text = f"{name!r} is not registered; calls of it that have not ended, and would wait: {count}"
            yield Finding("tasks", text)
