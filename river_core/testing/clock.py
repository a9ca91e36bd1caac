"""A clock that stands still until the test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from river_core.errors import ValidationError


class StubClock:
    """Give it as `clock=` to clients, workers and test workers (River: TimeGenerator.StubNow).

    Jobs that are inserted by it get `created_at` and, where none was asked for, `scheduled_at` from it.
    """

    def __init__(self, now: datetime | None = None) -> None:
        """Begin at an aware time, else at the machine's time; raises ValidationError for a naive one."""
        self._now = _aware(now) if now is not None else datetime.now(UTC)

    def now(self) -> datetime:
        """Return the time, aware, in UTC."""
        return self._now

    def set(self, now: datetime) -> datetime:
        """Move to an aware time and return it; raises ValidationError for a naive one."""
        self._now = _aware(now)
        return self._now

    def advance(self, by: float | timedelta) -> datetime:
        """Move on by seconds or a timedelta and return the new time."""
        self._now += by if isinstance(by, timedelta) else timedelta(seconds=by)
        return self._now


def _aware(now: datetime) -> datetime:
    if not isinstance(now, datetime) or now.tzinfo is None:
        raise ValidationError(f"a clock takes an aware datetime, as datetime.now(UTC) gives, not {now!r}")
    return now.astimezone(UTC)
