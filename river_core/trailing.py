"""Sends, a moment later, the notifications that the limiter held back.

River's limiter lets one notification a queue pass in 100 ms and leaves the rest to the workers' poll. An
adapter's caller often waits for the result, so its client sends one trailing notification for all
that was held back, 20 ms later or as soon as `flush` is called.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterable

from river_core.db import notifications
from river_core.drivers.base import Driver
from river_core.errors import DatabaseError
from river_core.forking import in_forked_child

TRAILING_SECONDS = 0.02

logger = logging.getLogger(__name__)


class TrailingNotifications:
    """Remembers queues and announces them from a daemon thread, which is started when first needed.

    Callable from any thread; a forked child starts with nothing remembered and a thread of its own.
    """

    def __init__(self, driver: Driver, delay: float = TRAILING_SECONDS) -> None:
        """Announce on `driver` after `delay` seconds."""
        self._driver = driver
        self._delay = delay
        self._reset()
        in_forked_child(self._reset)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._queues: set[str] = set()
        self._held = threading.Event()
        self._thread: threading.Thread | None = None

    def hold(self, queues: Iterable[str]) -> None:
        """Announce these queues once the delay is over."""
        with self._lock:
            is_first = not self._queues
            self._queues.update(queues)
            if not is_first or not self._queues:
                return  # the thread was told with the first
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="river-trailing", daemon=True)
                self._thread.start()
        self._held.set()

    def flush(self) -> Collection[str]:
        """Announce now, in the calling thread, what is held back; return which queues that were."""
        if not self._queues:
            return ()
        with self._lock:
            queues, self._queues = self._queues, set()
        if queues:
            self._send(sorted(queues))
        return queues

    def _run(self) -> None:
        while True:
            self._held.wait()
            self._held.clear()
            time.sleep(self._delay)  # collects what else is held back meanwhile
            try:
                self.flush()
            except Exception:
                logger.exception("trailing notifications failed")

    def _send(self, queues: list[str]) -> None:
        payloads = [notifications.insert_payload(queue) for queue in queues]
        statement = notifications.notify_many(self._driver.sql, notifications.TOPIC_INSERT, payloads)
        try:
            with self._driver.connect() as connection:
                connection.fetch(statement)
        except DatabaseError as error:
            logger.warning(
                "workers were not told of new jobs in %s and will find them by polling: %s", queues, error
            )
