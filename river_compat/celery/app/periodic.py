"""What an application knows of periodic tasks: those that its code adds to `beat_schedule`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from functools import cached_property
from typing import Any

from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.shortened import short_repr

logger = logging.getLogger(__name__)


class PeriodicEntries:
    """Entries that the code has added. They are put into `beat_schedule` when it is read."""

    def __init__(self) -> None:
        """Start empty."""
        self.waiting: dict[str, Any] = {}
        self.added: set[str] = set()
        self.own: MutableMapping[str, Any] = {}
        """The value of `beat_schedule` where the settings give none."""

    def add(self, name: str, entry: Mapping[str, Any]) -> None:
        """Add an entry, or replace the one of that name."""
        self.waiting[name] = entry
        self.added.add(name)

    def within(self, schedule: Any) -> Any:
        """Return the setting's value with the entries in it; raises ImproperlyConfigured for no dict."""
        if not isinstance(schedule, MutableMapping):
            raise ImproperlyConfigured(f"beat_schedule is a dict of entries by name, not {schedule!r}")
        if self.waiting:
            schedule.update(self.waiting)
            self.waiting = {}
        return schedule


class Periodic:
    """What an application offers around periodic tasks."""

    conf: Any

    def add_periodic_task(
        self, schedule: Any, sig: Any, args: Any = (), kwargs: Any = (), name: str | None = None, **opts: Any
    ) -> str:
        """Let a beat send a task, or a signature, by a schedule; return the entry's name.

        The name is by default the text of the call. Two unnamed entries with one text are one, with a
        warning: the later counts. Other options are those of `apply_async`.
        """
        entry = _entry(schedule, sig, args, dict(kwargs or {}), opts)
        key = name or _text(entry)
        if name is None and key in self.conf.periodic.added:
            logger.warning(
                "Periodic task key='%s' shadowed a previous unnamed periodic task. "
                "Pass a name kwarg to add_periodic_task to silence this warning.",
                key,
            )
        self.conf.periodic.add(key, entry)
        return key

    @property
    def _pending_periodic_tasks(self) -> list[tuple[str, Any]]:
        return list(self.conf.periodic.waiting.items())

    @cached_property
    def Beat(self) -> Any:  # noqa: N802 - the name is Celery's
        """The class that runs a beat of this application: `app.Beat().run()`."""
        from river_compat.celery.apps.beat import Beat

        return type("Beat", (Beat,), {"app": self, "__module__": Beat.__module__})


def _entry(schedule: Any, sig: Any, args: Any, kwargs: dict[str, Any], opts: Mapping[str, Any]) -> Any:
    """Return an entry of `beat_schedule` for a task or a signature, whose own arguments come behind."""
    if not hasattr(sig, "clone"):
        task, options = sig.name, dict(opts)
        return {"schedule": schedule, "task": task, "args": args, "kwargs": kwargs, "options": options}
    whole = sig.clone(args, kwargs)
    return {
        "schedule": schedule,
        "task": whole.task,
        "args": whole.args,
        "kwargs": whole.kwargs,
        "options": {**whole.options, **opts},
    }


def _text(entry: Mapping[str, Any]) -> str:
    values = [short_repr(value) for value in entry["args"]]
    values += [f"{name}={short_repr(value)}" for name, value in entry["kwargs"].items()]
    return f"{entry['task']}({', '.join(values)})"
