"""When a client counts as dead: its lock was seen free for long enough, without interruption."""

from __future__ import annotations

from river_core.worker.recovery import RecoveryTiming, Suspects

TIMING = RecoveryTiming()
OLD_SERVER = 1e6


def watch(suspects: Suspects, start: int, end: int, *free: str, age: float = OLD_SERVER) -> list[str]:
    """Look every two seconds from `start` to `end`; return what the last look says."""
    dead: list[str] = []
    for now in range(start, end + 1, 2):
        dead = suspects.observe(now, free, age)
    return dead


def test_dead_after_ten_seconds_without_its_lock() -> None:
    """Not before."""
    suspects = Suspects(TIMING)
    assert watch(suspects, 100, 108, "one") == []
    assert watch(suspects, 110, 110, "one", "two") == ["one"]


def test_a_lock_that_was_held_in_between_starts_the_time_anew() -> None:
    """One look that finds it held is enough."""
    suspects = Suspects(TIMING)
    watch(suspects, 100, 106, "one")
    watch(suspects, 108, 108)
    assert watch(suspects, 110, 118, "one") == []
    assert watch(suspects, 120, 120, "one") == ["one"]


def test_an_observer_that_was_suspended_proves_nothing() -> None:
    """What happened between two looks far apart is unknown."""
    suspects = Suspects(TIMING)
    watch(suspects, 100, 108, "one")
    assert watch(suspects, 200, 208, "one") == []
    assert watch(suspects, 210, 210, "one") == ["one"]


def test_an_observer_that_reconnected_judges_nobody_for_fifteen_seconds() -> None:
    """The others need time to come back as well."""
    suspects = Suspects(TIMING)
    watch(suspects, 100, 110, "one")
    suspects.reconnected()
    assert watch(suspects, 112, 126, "one") == []
    assert watch(suspects, 128, 128, "one") == ["one"]


def test_a_server_that_just_started_is_given_fifteen_seconds() -> None:
    """Its clients are still connecting."""
    suspects = Suspects(TIMING)
    assert watch(suspects, 100, 120, "one", age=14.9) == []
    assert watch(suspects, 122, 122, "one", age=15.0) == ["one"]
