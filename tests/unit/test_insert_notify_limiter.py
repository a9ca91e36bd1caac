"""The limiter of insert notifications: one a queue within the cool-down."""

from __future__ import annotations

from river_core.insert import InsertParams
from river_core.inserting import InsertNotifyLimiter, available_queues
from river_core.job import JobState


class Clock:
    """A monotonic clock that stands still until a test moves it."""

    now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def rows(*queues: str) -> list[InsertParams]:
    """Return available jobs in these queues."""
    return [InsertParams("some_kind", "{}", queue=queue) for queue in queues]


def test_one_passes_until_more_than_the_cooldown_is_over() -> None:
    """At exactly the cool-down the queue still waits."""
    clock = Clock()
    limiter = InsertNotifyLimiter(cooldown=0.5, monotonic=clock)
    assert limiter.allowed(rows("a")) == ["a"]
    assert limiter.allowed(rows("a")) == []
    clock.now = 100.5
    assert limiter.allowed(rows("a")) == []
    clock.now = 100.51
    assert limiter.allowed(rows("a")) == ["a"]


def test_a_refused_one_does_not_prolong_the_cooldown() -> None:
    """Only what passed is remembered."""
    clock = Clock()
    limiter = InsertNotifyLimiter(cooldown=0.5, monotonic=clock)
    limiter.allowed(rows("a"))
    clock.now = 100.4
    limiter.allowed(rows("a"))
    clock.now = 100.6
    assert limiter.allowed(rows("a")) == ["a"]


def test_queues_are_independent_and_named_once() -> None:
    """A batch names each of its queues once, in order."""
    limiter = InsertNotifyLimiter(cooldown=0.5, monotonic=Clock())
    assert limiter.allowed(rows("b", "a", "b")) == ["b", "a"]
    assert limiter.allowed(rows("c", "a")) == ["c"]


def test_what_is_forgotten_passes_again() -> None:
    """A transaction that failed has announced nothing."""
    limiter = InsertNotifyLimiter(cooldown=0.5, monotonic=Clock())
    limiter.forget(limiter.allowed(rows("a")))
    assert limiter.allowed(rows("a")) == ["a"]


def test_only_available_jobs_count() -> None:
    """Others cannot be worked yet."""
    jobs = [InsertParams("some_kind", "{}", queue=state.value, state=state) for state in JobState]
    assert available_queues(jobs) == ["available"]


def test_for_those_who_wait_nearly_everything_passes_for_a_second() -> None:
    """At most one in a millisecond, of that queue alone; then the cool-down counts again."""
    clock = Clock()
    limiter = InsertNotifyLimiter(cooldown=0.5, monotonic=clock)
    limiter.allowed(rows("a", "b"))
    limiter.hurry(["a"])
    assert limiter.allowed(rows("a")) == []
    clock.now = 100.002
    assert limiter.allowed(rows("a", "b")) == ["a"]
    clock.now = 101.1
    assert limiter.allowed(rows("a")) == ["a"]
    clock.now = 101.2
    assert limiter.allowed(rows("a")) == []
