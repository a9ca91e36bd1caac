"""Hears the database's notifications on one dedicated connection and hands them on (River: notifier).

Used by a worker for inserts, control messages and leadership, and by clients that wait for results.
A lost connection is replaced with back-off; after each one the `on_connect` callbacks run, so that
state that was missed is read anew.

Who waits for a notification may listen in its own thread meanwhile, which spares it being woken by another.
"""

from __future__ import annotations

import json
import logging
import math
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from river_core.db.notifications import TOPIC_DONE as TOPIC_DONE
from river_core.db.notifications import TOPIC_LEADERSHIP as TOPIC_LEADERSHIP
from river_core.db.notifications import notify_many
from river_core.drivers.base import Connection, Driver, Listener, Notification
from river_core.errors import DatabaseError
from river_core.service import Service

PING_SECONDS = 2.5
FIRST_RECONNECT_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 64.0
LENT_SECONDS = 0.5
"""After so long without a guest the notifier's own thread listens again."""
GOOD_CONNECTION_SECONDS = 1.0
"""A connection that lived this long is replaced at once; with shorter ones the pauses grow."""

Payload = dict[str, Any]
logger = logging.getLogger(__name__)


class Notifier(Service):
    """Listens to topics and calls the subscribers in its own thread; they must be quick."""

    def __init__(
        self,
        driver: Driver,
        topics: Sequence[str],
        name: str = "river-notifier",
        longest_pause: float = LONGEST_PAUSE_SECONDS,
    ) -> None:
        """Listen to bare topics; nothing connects before `start`.

        While the database is away there are at most about `longest_pause` seconds between two tries.
        """
        super().__init__(name)
        self._longest_pause = longest_pause
        self._driver = driver
        self._topics = tuple(topics)
        self._listener: Listener | None = None
        self._lock = threading.Lock()
        self._hearing = threading.Lock()
        self._guest: int | None = None
        self._lent_at = -math.inf
        self._nudged = False
        self._subscribers: dict[str, list[Callable[[Payload], None]]] = defaultdict(list)
        self.on_connect: list[Callable[[Listener], None]] = []
        """Called with each new connection, in the thread that made it."""
        self.on_idle: list[Callable[[Listener], None]] = []
        """Called every 2.5 seconds, and after a wake-up, to prove that the connection still answers."""

    def subscribe(self, topic: str, callback: Callable[[Payload], None]) -> Callable[[], None]:
        """Call `callback` with each decoded payload of `topic`; return a function that ends it."""
        with self._lock:
            self._subscribers[topic].append(callback)

        def unsubscribe() -> None:
            with self._lock:
                if callback in self._subscribers[topic]:
                    self._subscribers[topic].remove(callback)

        return unsubscribe

    def start(self) -> None:
        """Connect and listen, then start the thread; raises OperationalError when that fails."""
        if self.alive:
            return
        try:
            self._connect()
        except BaseException:
            self._disconnect()
            raise
        super().start()

    def wake(self) -> None:
        """Make a waiting listener return, and prove that the connection answers."""
        self._nudged = True
        super().wake()
        listener = self._listener
        if listener is not None:
            listener.wake()

    def hear(self, until: float, awaited: threading.Event) -> bool:
        """Listen in this thread, in the place of the own one, until `awaited` is set; return whether it is.

        Subscribers are called here meanwhile. False at once where another guest listens or there is no
        connection; False also where that is lost, and at the monotonic time `until`. Who sets `awaited` from
        elsewhere calls `interrupt` after that.
        """
        listener = self._listener
        if listener is None or self._guest is not None:
            return False
        try:
            if self._becomes_guest():
                self._listen_as_guest(listener, until, awaited)
        except DatabaseError:
            self.listen_again()  # the own thread will see it too, and connect anew
        finally:  # also where an exception was raised in this thread from outside, wherever it was just then
            if self._guest == threading.get_ident():
                self._guest = None
        return awaited.is_set()

    def _becomes_guest(self) -> bool:
        with self._lock:
            if self._guest is not None:
                return False
            self._guest = threading.get_ident()
            return True

    def _listen_as_guest(self, listener: Listener, until: float, awaited: threading.Event) -> None:
        if (
            self._hearing.locked()
        ):  # else the own thread rests, or sees before it listens that there is a guest
            listener.wake()
        with self._hearing:
            while listener is self._listener and not (awaited.is_set() or self.stopping):
                left = until - time.monotonic()
                if left <= 0:
                    break
                for notification in listener.wait(min(left, PING_SECONDS)):
                    self._deliver(notification)
            self._lent_at = time.monotonic()

    @property
    def has_guest(self) -> bool:
        """Whether another thread listens just now in the place of the own one."""
        return self._guest is not None

    def interrupt(self) -> None:
        """Let a guest look whether what it waits for is there; nothing where it is the caller itself."""
        guest, listener = self._guest, self._listener
        if listener is not None and guest is not None and guest != threading.get_ident():
            listener.wake()

    def listen_again(self) -> None:
        """Let the own thread listen at once: others than the guest who leaves wait as well."""
        self._lent_at = -math.inf
        super().wake()

    def keep_listening(self) -> None:
        """Let the own thread listen if nobody else does: the caller waits without being a guest."""
        if self._guest is None and self._lent_at != -math.inf:
            self.listen_again()

    def run(self) -> None:
        """Listen until asked to stop, reconnecting with back-off."""
        failures = 0
        try:
            while not self.stopping:
                connected_at = time.monotonic()
                self._listen_until_lost()
                if time.monotonic() - connected_at > GOOD_CONNECTION_SECONDS:
                    failures = 0
                failures = self._reconnect(failures)
        finally:
            self._disconnect()

    def _listen_until_lost(self) -> None:
        listener = self._listener
        pinged_at = time.monotonic()
        try:
            while listener is not None and not self.stopping:
                self._listen_or_rest(listener, max(pinged_at + PING_SECONDS - time.monotonic(), 0.0))
                is_due = self._nudged or time.monotonic() - pinged_at >= PING_SECONDS
                if is_due and not self.stopping:
                    self._nudged = False
                    self._prove(listener)
                    pinged_at = time.monotonic()
        except DatabaseError as error:
            logger.warning("the notification connection was lost: %s", error)

    def _listen_or_rest(self, listener: Listener, seconds: float) -> None:
        """Listen for up to `seconds`, or leave that to a guest."""
        rest = LENT_SECONDS if self._guest is not None else self._lent_at + LENT_SECONDS - time.monotonic()
        if rest > 0:
            self.wait(min(seconds, rest))
            return
        with self._hearing:
            if self._guest is None:
                for notification in listener.wait(seconds):
                    self._deliver(notification)

    def _prove(self, listener: Listener) -> None:
        for callback in self.on_idle:
            callback(listener)

    def _reconnect(self, failures: int) -> int:
        while not self.stopping:
            self._disconnect()
            self.wait(min(reconnect_seconds(failures), self._longest_pause))
            if self.stopping:
                break
            failures += 1
            try:
                self._connect()
                return failures
            except DatabaseError as error:
                level = logging.WARNING if failures.bit_count() == 1 else logging.DEBUG
                logger.log(level, "listening again failed (try %d): %s", failures, error)
        return failures

    def _connect(self) -> None:
        self._listener = self._driver.listen(self._topics)
        for callback in self.on_connect:
            callback(self._listener)

    def _disconnect(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.wake()
            with self._hearing:
                listener.close()

    def _deliver(self, notification: Notification) -> None:
        payload = decode_payload(notification)
        if payload is None:
            return
        with self._lock:
            callbacks = list(self._subscribers[notification.topic])
        for callback in callbacks:
            try:
                callback(payload)
            except Exception:
                logger.exception("a subscriber of %s raised", notification.topic)


def notify(driver: Driver, topic: str, payloads: Sequence[Payload]) -> None:
    """Send JSON objects on a topic, on a connection of the driver's own; raises DatabaseError."""
    with driver.connect() as connection:
        notify_on(connection, driver, topic, payloads)


def notify_on(connection: Connection, driver: Driver, topic: str, payloads: Sequence[Payload]) -> None:
    """Send JSON objects on a topic at the commit of what a connection has open.

    Postgres takes at most 7,999 bytes in each, and whoever may connect can read them: ids only.
    """
    texts = [json.dumps(payload, separators=(",", ":")) for payload in payloads]
    connection.fetch(notify_many(driver.sql, topic, texts))


def reconnect_seconds(failures: int) -> float:
    """Return the seconds to wait after `failures` failed connections: 0.1, then 1, 2, 4 … 64 ± 10 %."""
    if failures == 0:
        return FIRST_RECONNECT_SECONDS
    return float(2 ** ((failures - 1) % 7)) * random.uniform(0.9, 1.1)  # noqa: S311 - jitter, no secret


def decode_payload(notification: Notification) -> Payload | None:
    """Return the JSON object of a notification, or None, logged, when it is none."""
    try:
        payload = json.loads(notification.payload)
    except (ValueError, RecursionError):
        payload = None
    if isinstance(payload, dict):
        return payload
    logger.warning("a notification of %s is no JSON object and is ignored", notification.topic)
    return None
