"""Who waits for a notification may listen in its own thread; the notifier's own one comes back after it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import pytest

from river_core.db.notifications import TOPIC_INSERT, notify_many
from river_core.drivers.base import Driver, Listener, Notification
from river_core.drivers.psycopg import PsycopgDriver
from river_core.errors import DatabaseError
from river_core.job import JobRow
from river_core.notifier import Notifier, notify
from river_core.worker.ahead import Reservation
from river_core.worker.producer import Pacing, Producer
from river_core.worker.slots import ThreadSlots
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


def test_a_guest_who_waits_for_the_connection_is_one_already(driver: Driver) -> None:
    """Of two that come at once, while a subscriber is still told, the second is sent away and not held up."""
    event, told, goes_on = threading.Event(), threading.Event(), threading.Event()
    results: list[bool] = []
    with listening(driver, event) as (notifier, _):

        def tarry(payload: dict[str, object]) -> None:
            told.set()
            assert goes_on.wait(DEADLINE)

        notifier.subscribe(TOPIC_INSERT, tarry)
        notify(driver, TOPIC_INSERT, [{"queue": 0}])
        assert told.wait(DEADLINE)
        event.clear()
        guest = threading.Thread(target=lambda: results.append(notifier.hear(far(), event)))
        guest.start()
        wait_for(lambda: notifier.has_guest, "the guest")
        assert not notifier.hear(far(), threading.Event())
        goes_on.set()
        notify(driver, TOPIC_INSERT, [{"queue": 1}])
        guest.join(DEADLINE)
        assert results == [True]


def test_an_exception_from_outside_leaves_no_guest(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ctrl-C or a time limit raises it anywhere; the own thread listens again, and can be stopped."""
    event = threading.Event()
    with listening(driver, event) as (notifier, heard):
        with monkeypatch.context() as patched:
            patched.setattr("river_core.notifier.threading.get_ident", _once_interrupted())
            with pytest.raises(KeyboardInterrupt):
                notifier.hear(far(), event)
        notify(driver, TOPIC_INSERT, [{"queue": 0}])
        assert event.wait(DEADLINE)
        assert heard == [("river-notifier", 0)]


def _once_interrupted() -> Callable[[], int]:
    plain, here, raised = threading.get_ident, threading.get_ident(), []

    def get_ident() -> int:
        if not raised and plain() == here:
            raised.append(True)
            raise KeyboardInterrupt
        return plain()

    return get_ident


def test_a_guest_leaves_a_connection_that_is_given_up(driver: Driver) -> None:
    """Also one that works, and whose proof failed: then it is replaced."""
    event, results = threading.Event(), []
    with listening(driver, event) as (notifier, _):
        failures = [DatabaseError("the proof has failed")]

        def prove(listener: Listener) -> None:
            if failures:
                raise failures.pop()

        notifier.on_idle.append(prove)
        guest = threading.Thread(target=lambda: results.append(notifier.hear(far(), event)))
        guest.start()
        wait_for(lambda: notifier.has_guest, "the guest")
        notifier.wake()
        guest.join(DEADLINE)
        assert results == [False]
        notify_until(driver, event)


def notify_until(driver: Driver, event: threading.Event) -> None:
    """Send until it is heard: who connects anew has missed what was sent before."""

    def is_heard() -> bool:
        notify(driver, TOPIC_INSERT, [{"queue": 1}])
        return event.wait(0.05)

    wait_for(is_heard, "the new connection")


def test_a_producer_in_its_cooldown_lets_others_hear(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have listened for the other queues, and listens to nothing then."""
    told: list[str] = []

    class Told:
        def keep_listening(self) -> None:
            told.append("listen")

    class NoPlaces:
        def reserve(self) -> Reservation:
            return Reservation(1, 0)

        def submit(self, rows: list[JobRow], reserved: int) -> None:
            told.append("claimed")

    pacing, slots = Pacing(DEADLINE, DEADLINE), cast(ThreadSlots, NoPlaces())
    producer = Producer(
        driver, "c", "default", slots, pacing, None, lambda: True, notifier=lambda: cast(Notifier, Told())
    )
    monkeypatch.setattr(producer, "pause", lambda seconds: told.append("rested"))
    producer.run_once()
    producer.run_once()
    assert told == ["claimed", "listen", "rested", "claimed"]


def test_a_statement_of_another_thread_keeps_nothing_from_a_guest(postgres_driver: PsycopgDriver) -> None:
    """What its answer brings is gone from the socket before the guest has looked."""
    listener = postgres_driver.listen((TOPIC_INSERT,))
    try:
        listener._selector.unregister(listener._raw.fileno())  # as when it has nothing to read any more
        heard: list[Notification] = []
        guest = threading.Thread(target=lambda: heard.extend(listener.wait(DEADLINE)))
        guest.start()
        listener.fetch(notify_many(postgres_driver.sql, TOPIC_INSERT, ['{"queue":0}']))
        guest.join(DEADLINE)
        assert [notification.topic for notification in heard] == [TOPIC_INSERT]
    finally:
        listener.close()
