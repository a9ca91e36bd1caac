"""The entries that a scheduler has, and when it writes them."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from river_compat.celery.beat_entry import ScheduleEntry
from river_compat.celery.beat_heap import schedules_equal
from river_compat.celery.schedules import crontab

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

CLEANUP = "celery.backend_cleanup"

logger = logging.getLogger("celery.beat")


class Entries:
    """The part of a scheduler that knows its entries, by name in `data`."""

    Entry: ClassVar[Any] = ScheduleEntry
    app: Celery
    data: Any
    sync_every: float = 3 * 60
    sync_every_tasks: Any = None
    _last_sync: float | None = None
    _tasks_since_sync: int = 0

    def get_schedule(self) -> Any:
        """Return the entries by name."""
        return self.data

    def set_schedule(self, schedule: Any) -> None:
        """Replace the entries."""
        self.data = schedule

    schedule: Any = property(get_schedule, set_schedule)

    def setup_schedule(self) -> None:
        """Take the entries of the settings."""
        self.install_default_entries(self.data)
        self.merge_inplace(self.app.conf.beat_schedule)

    def install_default_entries(self, data: Any) -> None:
        """Add Celery's own entries: a daily clean-up, where results are kept that do not go by themselves."""
        needed = self.app.conf.result_expires and not self.app.backend.supports_autoexpire
        entry = {"task": CLEANUP, "schedule": crontab("0", "4", "*"), "options": {"expires": 12 * 3600}}
        self.update_from_dict({CLEANUP: entry} if needed and CLEANUP not in data else {})

    def add(self, **kwargs: Any) -> Any:
        """Add an entry, and return it."""
        entry = self.Entry(app=self.app, **kwargs)
        self.schedule[entry.name] = entry
        return entry

    def update_from_dict(self, dict_: Mapping[str, Any]) -> None:
        """Add entries or replace them."""
        self.schedule.update({name: self._maybe_entry(name, entry) for name, entry in dict_.items()})

    def merge_inplace(self, b: Mapping[str, Any]) -> None:
        """Make the entries those of `b`; the ones that stay keep their runs. A broken one is logged alone."""
        schedule = self.schedule
        for name in [name for name in schedule if name not in b]:
            schedule.pop(name, None)
        for name, fields in b.items():
            entry = self._read_entry(name, fields)
            if entry is None:
                continue
            if schedule.get(name):
                schedule[name].update(entry)
            else:
                schedule[name] = entry

    def _maybe_entry(self, name: str, entry: Any) -> Any:
        if isinstance(entry, self.Entry):
            entry.app = self.app
            return entry
        return self.Entry(**{**entry, "name": name, "app": self.app})

    def _read_entry(self, name: str, fields: Any) -> Any:
        try:
            return self._maybe_entry(name, fields if isinstance(fields, self.Entry) else dict(fields))
        except Exception:
            logger.exception("beat: the entry %r of beat_schedule is broken and left out", name)
            return None

    def schedules_equal(self, old_schedules: Any, new_schedules: Any) -> bool:
        """Whether two schedules have the same entries, apart from their runs."""
        return schedules_equal(old_schedules, new_schedules)

    def should_sync(self) -> bool:
        """Whether it is time to call `sync`."""
        last, tasks = self._last_sync, self.sync_every_tasks
        late = last is None or time.monotonic() - last > self.sync_every
        return late or bool(tasks and self._tasks_since_sync >= tasks)

    def _do_sync(self) -> None:
        try:
            logger.debug("beat: Synchronizing schedule...")
            self.sync()
        finally:
            self._last_sync = time.monotonic()
            self._tasks_since_sync = 0

    def sync(self) -> None:
        """Write the entries where a subclass keeps them."""

    def close(self) -> None:
        """Write what is to be written, at the end."""
        self.sync()
