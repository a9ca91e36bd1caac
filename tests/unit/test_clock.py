"""The clock that follows a database: when it does, and what a child process makes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from river_core import clock


@pytest.fixture(autouse=True)
def own_time() -> Iterator[None]:
    """Reckon by the machine's clock again."""
    yield
    clock.follow(None)


def told(seconds: float, answer: float = 0.0) -> float:
    """Learn that the database is so many seconds ahead, by an answer that took as long as is said."""
    moment = time.monotonic()
    return clock.learn(
        datetime.now(UTC) + timedelta(seconds=seconds), moment - answer / 2, moment + answer / 2
    )


def ahead() -> float:
    return (clock.now() - datetime.now(UTC)).total_seconds()


@pytest.mark.parametrize("seconds", [90.0, -90.0, 1.0])
def test_a_wrong_clock_is_set_right(seconds: float) -> None:
    assert told(seconds) == pytest.approx(-seconds, abs=0.5)
    assert ahead() == pytest.approx(seconds, abs=0.5)
    followed = clock.followed()
    clock.follow(None)
    assert ahead() == pytest.approx(0, abs=0.5)
    clock.follow(followed)
    assert ahead() == pytest.approx(seconds, abs=0.5)


@pytest.mark.parametrize(("seconds", "answer"), [(0.1, 0.0), (-0.1, 0.0), (2.0, 4.0)])
def test_a_clock_counts_as_right_within_what_can_be_known(seconds: float, answer: float) -> None:
    told(90)
    assert told(seconds, answer) == 0
    assert clock.followed() is None
