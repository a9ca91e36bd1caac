"""One entry of a beat schedule: which task runs when, and when it last did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from river_compat.celery.schedules import maybe_schedule
from river_compat.shortened import short_repr

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

EDITABLE = ("task", "args", "kwargs", "options", "schedule")


class BeatLazyFunc:
    """An argument in `beat_schedule` that is computed each time the entry is sent."""

    def __init__(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call `func` with these arguments later."""
        self._call = (func, args, kwargs)

    def __call__(self) -> Any:
        """Return what the function returns now."""
        return self.delay()

    def delay(self) -> Any:
        """Return what the function returns now."""
        func, args, kwargs = self._call
        return func(*args, **kwargs)


def evaluated_args(args: Any) -> list[Any]:
    """Return the positional arguments, those that are lazy computed now."""
    return [_evaluated(value) for value in args or ()]


def evaluated_kwargs(kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the keyword arguments, those that are lazy computed now."""
    return {name: _evaluated(value) for name, value in (kwargs or {}).items()}


def _evaluated(value: Any) -> Any:
    return value() if isinstance(value, BeatLazyFunc) else value


class ScheduleEntry:
    """An entry. One that is new last ran now, so that it waits for its first time."""

    name: Any = None
    schedule: Any = None
    args: Any = None
    kwargs: Any = None
    options: Any = None
    last_run_at: Any = None
    total_run_count: int = 0

    def __init__(
        self,
        name: str | None = None,
        task: str | None = None,
        last_run_at: datetime | None = None,
        total_run_count: int | None = None,
        schedule: Any = None,
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        relative: bool = False,
        app: Celery | None = None,
    ) -> None:
        """Take Celery's parameters; the schedule may be given in seconds."""
        self.app = app
        self.name = name
        self.task = task
        self.args = args
        self.kwargs = kwargs or {}
        self.options = options or {}
        self.schedule = maybe_schedule(schedule, relative, app=app)
        self.last_run_at = last_run_at or self.default_now()
        self.total_run_count = total_run_count or 0

    def default_now(self) -> datetime:
        """Return the time by the schedule's clock, else by the application's."""
        clock: Any = self.schedule or self.app
        now: datetime = clock.now()
        return now

    _default_now = default_now

    def _next_instance(self, last_run_at: datetime | None = None) -> Any:
        """Return the entry after one more run, now or at `last_run_at`."""
        run = {
            "last_run_at": last_run_at or self.default_now(),
            "total_run_count": self.total_run_count + 1,
        }
        return type(self)(**{**dict(self), **run})

    __next__ = next = _next_instance

    def update(self, other: Any) -> None:
        """Take everything but the runs from another entry."""
        for name in EDITABLE:
            setattr(self, name, getattr(other, name))

    def is_due(self) -> tuple[bool, Any]:
        """Return whether to run now, and in how many seconds to ask again."""
        due: tuple[bool, Any] = self.schedule.is_due(self.last_run_at)
        return due

    def editable_fields_equal(self, other: Any) -> bool:
        """Compare everything but name and runs."""
        return all(getattr(self, name) == getattr(other, name) for name in EDITABLE)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Give the constructor's arguments by name."""
        return iter(vars(self).items())

    def __repr__(self) -> str:
        """Show name, call and schedule, as Celery does without a closing bracket."""
        values = [short_repr(value) for value in self.args or ()]
        values += [f"{name}={short_repr(value)}" for name, value in (self.kwargs or {}).items()]
        call = f"{self.task}({', '.join(values)})"
        return f"<{type(self).__name__}: {self.name} {call} {self.schedule}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the application."""
        fields = (self.name, self.task, self.last_run_at, self.total_run_count, self.schedule)
        return type(self), (*fields, self.args, self.kwargs, self.options)

    def __eq__(self, other: object) -> bool:
        """Compare everything but name and runs."""
        return isinstance(other, ScheduleEntry) and self.editable_fields_equal(other)

    def __lt__(self, other: object) -> bool:
        """Give an order, whichever, to entries that are due at the same time."""
        return id(self) < id(other) if isinstance(other, ScheduleEntry) else NotImplemented

    def __gt__(self, other: object) -> bool:
        """Give the reverse order."""
        return id(self) > id(other) if isinstance(other, ScheduleEntry) else NotImplemented

    def __le__(self, other: object) -> bool:
        """Give the same order."""
        return id(self) <= id(other) if isinstance(other, ScheduleEntry) else NotImplemented

    def __ge__(self, other: object) -> bool:
        """Give the reverse order."""
        return id(self) >= id(other) if isinstance(other, ScheduleEntry) else NotImplemented
