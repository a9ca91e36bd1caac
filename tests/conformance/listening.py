"""Hearing notifications in tests without waiting for silence."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from river_core.db.notifications import TOPIC_CONTROL, TOPIC_INSERT, notify_many
from river_core.drivers.base import Driver, Listener, Notification

DEADLINE = 60.0
MARK = "mark"


@contextmanager
def listening(driver: Driver, *topics: str) -> Iterator[Listener]:
    """Listen to topics for the block."""
    with closing(driver.listen(topics)) as listener:
        yield listener


def send(driver: Driver, topic: str, *payloads: str) -> None:
    """Send payloads in a transaction of their own."""
    with driver.connect() as connection, connection.transaction():
        connection.fetch(notify_many(driver.sql, topic, payloads))


def hear(driver: Driver, listener: Listener) -> list[Notification]:
    """Return what was sent up to now: everything before a mark that is sent here.

    The listener must hear `river_control`.
    """
    send(driver, TOPIC_CONTROL, MARK)
    heard: list[Notification] = []
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        heard += listener.wait(DEADLINE)
        if heard and heard[-1].payload == MARK:
            return heard[:-1]
    raise AssertionError(f"the mark was not heard, only {heard}")


def heard_during(driver: Driver, action: Callable[[], object]) -> list[Notification]:
    """Return what `action` announced to workers."""
    with listening(driver, TOPIC_INSERT, TOPIC_CONTROL) as listener:
        action()
        return hear(driver, listener)
