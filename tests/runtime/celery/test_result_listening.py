"""Somebody always listens for those who wait: who waits alone, or else the thread that does it for all."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from river_compat.celery import Celery
from river_compat.waiting import ResultWaiter, Watch
from river_core.drivers.base import Driver
from river_core.notifier import TOPIC_DONE, notify
from tests.runtime.workers import DEADLINE, wait_for


class _Never:
    awaited_row = 0


def _watch(heard: threading.Event | None) -> Watch:
    return Watch(
        _Never(), lambda items: [], lambda error: None, DEADLINE, heard is None, heard.set if heard else None
    )


@pytest.fixture
def waiter(app: Celery, monkeypatch: pytest.MonkeyPatch) -> ResultWaiter:
    """One that listens, and whose own thread does so only when it is told to, once somebody else has."""
    monkeypatch.setattr("river_core.notifier.LENT_SECONDS", 2 * DEADLINE)
    monkeypatch.setattr("river_compat.waiting.SLOW_POLL_SECONDS", 2 * DEADLINE)
    found: ResultWaiter = app.runtime.waiter
    first = _watch(None)
    found.watch([first])
    wait_for(lambda: found.hears, "the connection that listens")
    found.unwatch([first])
    return found


def _visit(waiter: ResultWaiter) -> None:
    """Be a guest for a moment."""
    notifier: Any = waiter._notifier
    assert not notifier.hear(0.0, threading.Event())


def test_of_two_who_wait_neither_need_listen(waiter: ResultWaiter, driver: Driver) -> None:
    """They are no guests, so the own thread listens at once, and not only when it would by itself."""
    events = [threading.Event(), threading.Event()]
    watches = [_watch(event) for event in events]
    for watch in watches:
        waiter.watch([watch])
    _visit(waiter)
    threads = [
        threading.Thread(target=waiter.wait, args=(event, None, [watch]))
        for event, watch in zip(events, watches, strict=True)
    ]
    for thread in threads:
        thread.start()
    notify(driver, TOPIC_DONE, [{"more": True}])
    for thread in threads:
        thread.join(DEADLINE)
    assert all(event.is_set() for event in events)


def test_callbacks_are_listened_for_after_a_guest(waiter: ResultWaiter, driver: Driver) -> None:
    """Nobody waits in a thread for what has a callback."""
    _visit(waiter)
    looks: list[Any] = []
    again = threading.Event()

    def look(items: Any) -> Any:
        looks.append(items)
        if len(looks) > 1:
            again.set()
        return []

    watch = Watch(_Never(), look, lambda error: None, 2 * DEADLINE)
    waiter.watch([watch])
    wait_for(lambda: looks, "the first look")
    notify(driver, TOPIC_DONE, [{"more": True}])
    assert again.wait(DEADLINE)
    waiter.unwatch([watch])
