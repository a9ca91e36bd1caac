"""A worker hears its database's time with what it reads anyway."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from river_core import clock
from river_core.database_clock import DatabaseClock
from river_core.db.statement import Statement
from river_core.drivers.base import Connection, Driver
from river_core.worker.attendant import Attendant
from river_core.worker.events import EventBus
from river_core.worker.producers import Producers
from tests.conformance.raw_connections import fetch

AHEAD = 90.0


class Watching:
    """A driver that notes the names of the statements it runs."""

    def __init__(self, driver: Driver) -> None:
        """Run them on `driver`."""
        self._driver = driver
        self.names: list[str] = []

    @property
    def sql(self) -> Any:
        """Those of the driver."""
        return self._driver.sql

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Lend a connection whose statements are noted."""
        with self._driver.connect() as connection:
            yield _Noting(connection, self.names)  # type: ignore[misc]


class _Noting:
    def __init__(self, connection: Connection, names: list[str]) -> None:
        self._connection, self._names = connection, names

    def fetch(self, statement: Statement) -> Any:
        self._names.append(statement.name)
        return self._connection.fetch(statement)


@pytest.fixture
def watching(driver: Driver) -> Watching:
    """The driver of the test."""
    return Watching(driver)


@pytest.fixture
def attendant(watching: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Attendant]:
    """An attendant of no queue, in a process whose clock is wrong."""
    wrong = SimpleNamespace(time=lambda: time.time() + AHEAD, monotonic=time.monotonic)
    monkeypatch.setattr(clock, "time", wrong)
    yield attending(watching, DatabaseClock(watching))
    clock.follow(None)


def attending(driver: Any, database_clock: DatabaseClock) -> Attendant:
    """Return an attendant of no queue."""
    make: Any = None  # called for each queue
    return Attendant(driver, Producers({}, make), EventBus(), lambda: None, database_clock)


def add_queue(driver: Driver) -> None:
    """Let there be a queue."""
    fetch(driver, "INSERT INTO river_queue (name, updated_at) VALUES ('one', '2026-01-01 00:00:00')")


def test_the_time_comes_with_the_queues(
    driver: Driver, watching: Watching, attendant: Attendant, caplog: pytest.LogCaptureFixture
) -> None:
    """One statement brings both, the process follows the time, and says so once."""
    add_queue(driver)
    with caplog.at_level(logging.WARNING):
        attendant.run_once()
        attendant.poll_now()
        attendant.run_once()
    assert watching.names == ["queue_list_timed"] * 2
    assert clock.followed() is not None
    assert abs((clock.now() - datetime.now(UTC)).total_seconds()) < AHEAD / 2
    assert [record.getMessage()[:36] for record in caplog.records] == ["this machine's clock is 90.0 s ahead"]


def test_where_no_queue_tells_it_the_time_is_asked_for(watching: Watching, attendant: Attendant) -> None:
    """As often as it would be told."""
    attendant.run_once()
    attendant.poll_now()
    attendant.run_once()
    assert watching.names == ["queue_list_timed", "database_time", "queue_list_timed"]
    assert clock.followed() is not None


def test_it_is_heard_again_when_it_is_due(driver: Driver, watching: Any) -> None:
    """Not with each reading: the time would move by milliseconds with each."""
    add_queue(driver)
    heard: list[float] = []

    class Counting(DatabaseClock):
        def hear(self, told: datetime, before: float, after: float) -> None:
            assert before <= after <= time.monotonic()
            heard.append(after)
            super().hear(told, before, after)

    for interval, times in ((3600.0, 1), (0.0, 3)):
        heard.clear()
        attendant = attending(watching, Counting(watching, interval))
        for _ in range(3):
            attendant.poll_now()
            attendant.run_once()
        assert len(heard) == times
