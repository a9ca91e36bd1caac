"""The scheduler that beats use by default: entries of the settings, whose runs are in the database."""

from __future__ import annotations

import logging
from datetime import UTC
from typing import Any

from river_compat.celery.refused_names import lacking
from river_compat.celery.scheduler import Scheduler
from river_compat.celery.utils.time import maybe_make_aware

logger = logging.getLogger("celery.beat")


@lacking("last runs are rows of the database, not a file", "known_suffixes persistence")
class PersistentScheduler(Scheduler):
    """Keeps the last runs in standing rows, so that restarts neither forget nor repeat any.

    What is added to `beat_schedule`, or to the scheduler, while it runs is noticed at the next turn.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the scheduler's parameters; `schedule_filename` has no effect: there is no file."""
        self.schedule_filename = kwargs.get("schedule_filename")
        self._recalled: set[Any] = set()
        self._settings: dict[str, Any] = {}
        super().__init__(*args, **kwargs)

    def setup_schedule(self) -> None:
        """Take the entries of the settings. Their runs are read at the first turn."""
        self._settings = dict(self.app.conf.beat_schedule)
        self.merge_inplace(self._settings)
        self.install_default_entries(self.schedule)

    def _recall(self) -> None:
        self._follow_settings()
        fresh = [name for name in self.schedule if name not in self._recalled]
        if not fresh or self.ticks is None:
            return
        now = maybe_make_aware(self.app.now()).astimezone(UTC)
        for name, last in self.ticks.recall(fresh, now).items():
            self._adopt(self.schedule[name], last)
        self._recalled.update(fresh)
        self._heap = None

    def _follow_settings(self) -> None:
        """Take what was changed in `beat_schedule` since the last turn; entries from elsewhere stay."""
        now = self.app.conf.beat_schedule
        if now == self._settings:
            return
        changed = {name: fields for name, fields in now.items() if self._settings.get(name) != fields}
        for name in self._settings.keys() - now.keys():
            self.schedule.pop(name, None)
            self._recalled.discard(name)
        self._take(changed)
        self._settings = dict(now)

    def _take(self, changed: dict[str, Any]) -> None:
        for name, fields in changed.items():
            entry = self._read_entry(name, fields)
            if entry is not None and name in self.schedule:
                self.schedule[name].update(entry)
            elif entry is not None:
                self.schedule[name] = entry

    @property
    def info(self) -> str:
        """A line about the scheduler for the banner."""
        return "    . last runs -> rows of the database"
