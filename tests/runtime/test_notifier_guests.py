"""Who waits for a notification may listen in its own thread; the notifier's own one comes back after it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from river_core.db.notifications import TOPIC_INSERT
from river_core.drivers.base import Driver
from river_core.notifier import Notifier, notify
from tests.runtime.workers import DEADLINE, wait_for

Heard = list[tuple[str, object]]


@contextmanager
def listening(driver: Driver, event: threading.Event) -> Iterator[tuple[Notifier, Heard]]:
    """A notifier that notes what was heard and in which thread, and sets an event then."""
    heard: Heard = []
    notifier = Notifier(driver, (TOPIC_INSERT,))

    def note(payload: dict[str, object]) -> None:
        heard.append((threading.current_thread().name, payload["queue"]))
        event.set()

    notifier.subscribe(TOPIC_INSERT, note)
    notifier.start()
    try:
        yield notifier, heard
    finally:
        assert notifier.stop(DEADLINE)


def far() -> float:
    """A time that no test reaches."""
    return time.monotonic() + DEADLINE


def test_a_guest_hears_in_its_own_thread(driver: Driver) -> None:
    """Also what was sent just before; nobody has to wake it."""
    event = threading.Event()
    with listening(driver, event) as (notifier, heard):
        for number in range(3):
            event.clear()
            sender = threading.Thread(target=notify, args=(driver, TOPIC_INSERT, [{"queue": number}]))
            sender.start()
            assert notifier.hear(far(), event)
            sender.join()
        here = threading.current_thread().name
        assert [queue for _, queue in heard] == [0, 1, 2]
        assert [name for name, _ in heard[1:]] == [here, here]


def test_the_own_thread_listens_again_after_a_guest(driver: Driver) -> None:
    """By itself after a moment, at once where it is told to."""
    event = threading.Event()
    with listening(driver, event) as (notifier, heard):
        for number, tell in enumerate((lambda: None, notifier.listen_again)):
            event.clear()
            assert not notifier.hear(time.monotonic() + 0.01, event)
            tell()
            notify(driver, TOPIC_INSERT, [{"queue": number}])
            assert event.wait(DEADLINE)
        assert heard == [("river-notifier", 0), ("river-notifier", 1)]


def test_what_others_set_ends_the_wait_and_there_is_one_guest(driver: Driver) -> None:
    """A second one is sent away at once."""
    event, results = threading.Event(), []
    with listening(driver, threading.Event()) as (notifier, _):
        guest = threading.Thread(target=lambda: results.append(notifier.hear(far(), event)))
        guest.start()
        wait_for(lambda: notifier.has_guest, "the guest")
        assert not notifier.hear(far(), threading.Event())
        event.set()
        notifier.interrupt()
        guest.join(DEADLINE)
        assert results == [True]


def test_a_stop_sends_a_guest_away(driver: Driver) -> None:
    """Nobody listens on a connection that is closed."""
    results: list[bool] = []
    with listening(driver, threading.Event()) as (notifier, _):
        guest = threading.Thread(target=lambda: results.append(notifier.hear(far(), threading.Event())))
        guest.start()
        wait_for(lambda: notifier.has_guest, "the guest")
    guest.join(DEADLINE)
    assert results == [False]
    assert not notifier.hear(far(), threading.Event())
