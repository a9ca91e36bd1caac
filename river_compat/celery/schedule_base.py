"""What all schedules of Celery have in common, and the one that runs every so often."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from river_compat.celery import _state
from river_compat.celery.utils.time import (
    humanize_seconds,
    maybe_make_aware,
    maybe_timedelta,
    remaining,
    timezone,
)

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

Now = Callable[[], datetime]


class schedstate(NamedTuple):  # noqa: N801 - the name is Celery's
    """Whether an entry is due, and in how many seconds to ask again."""

    is_due: bool
    next: float


class BaseSchedule:
    """A schedule; subclass it and define `remaining_estimate` and `is_due`."""

    def __init__(self, nowfun: Now | None = None, app: Celery | None = None) -> None:
        """Take what tells the time, by default the application's `now`."""
        self.nowfun = nowfun
        self._app = app

    def now(self) -> datetime:
        """Return the time now, naive (then it is UTC) or aware."""
        return (self.nowfun or self.app.now)()

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        """Return how long it is until the next run after a run at `last_run_at`; negative when it is late."""
        raise TypeError(f"{type(self).__name__} defines no remaining_estimate()")

    def is_due(self, last_run_at: datetime) -> tuple[bool, float]:
        """Return whether to run now, and in how many seconds to ask again."""
        raise TypeError(f"{type(self).__name__} defines no is_due()")

    def maybe_make_aware(self, dt: datetime, naive_as_utc: bool = True) -> datetime:
        """Return a naive time in the schedule's zone; an aware one as it is."""
        return maybe_make_aware(dt, self.tz, naive_as_utc=naive_as_utc)

    @property
    def app(self) -> Celery:
        """The application, by default the current one."""
        return self._app or _state.get_current_app()

    @app.setter
    def app(self, app: Celery | None) -> None:
        self._app = app

    @cached_property
    def tz(self) -> tzinfo:
        """The zone in which wall times count, the application's unless it is set."""
        return self.app.timezone

    @cached_property
    def utc_enabled(self) -> bool:
        """The setting `enable_utc`."""
        return bool(self.app.conf.enable_utc)

    def to_local(self, dt: datetime) -> datetime:
        """Return a time in the machine's zone where `enable_utc` is off, else as it is."""
        return dt if self.utc_enabled else timezone.to_local_fallback(dt)

    def elapsed_now(self) -> datetime:
        """Return the time now, aware."""
        return self.maybe_make_aware(self.now())

    def due_or_wait(self, last_run_at: datetime) -> schedstate:
        """Answer `is_due` of a schedule whose runs do not depend on when the last one was."""
        left = self.remaining_estimate(last_run_at).total_seconds()
        if left > 0:
            return schedstate(False, left)
        return schedstate(True, max(self.remaining_estimate(self.now()).total_seconds(), 0))

    def __eq__(self, other: object) -> bool:
        """Schedules are equal that ask the same clock."""
        return other.nowfun == self.nowfun if isinstance(other, BaseSchedule) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as Celery's: they can be changed


class schedule(BaseSchedule):  # noqa: N801 - the name is Celery's
    """Runs every `run_every` seconds after the last run; `relative` rounds to the unit of the interval."""

    relative: bool = False

    def __init__(
        self,
        run_every: float | timedelta | None = None,
        relative: bool = False,
        nowfun: Now | None = None,
        app: Celery | None = None,
    ) -> None:
        """Take seconds or a timedelta."""
        self.run_every = maybe_timedelta(run_every)
        self.relative = relative
        super().__init__(nowfun=nowfun, app=app)

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        """Return how long it is until `run_every` after the last run."""
        return remaining(
            self.maybe_make_aware(last_run_at), self.run_every, self.elapsed_now(), self.relative
        )

    def is_due(self, last_run_at: datetime) -> tuple[bool, float]:
        """Return whether the interval has passed, and in how many seconds to ask again."""
        last_run_at = self.maybe_make_aware(last_run_at)
        left = self.remaining_estimate(last_run_at).total_seconds()
        if left > 0:
            return schedstate(False, left)
        return schedstate(True, self._after_run(last_run_at.tzinfo))

    def _after_run(self, zone: tzinfo | None) -> float:
        if not self.relative:
            return self.seconds
        left = self.remaining_estimate(self.elapsed_now().astimezone(zone)).total_seconds()
        return left if left > 0 else self.seconds

    def __repr__(self) -> str:
        """Show the interval."""
        return f"<freq: {self.human_seconds}>"

    def __eq__(self, other: object) -> bool:
        """Compare the intervals; `other` may be a timedelta."""
        run_every: Any = other.run_every if isinstance(other, schedule) else other
        return bool(self.run_every == run_every)

    __hash__ = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the application."""
        return type(self), (self.run_every, self.relative, self.nowfun)

    @property
    def seconds(self) -> float:
        """The interval in seconds, at least 0."""
        return max(float(self.run_every.total_seconds()), 0)

    @property
    def human_seconds(self) -> str:
        """The interval as text."""
        return humanize_seconds(self.seconds)
