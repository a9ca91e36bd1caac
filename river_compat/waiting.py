"""Waits for rows to finish: one listening connection per application and process, started when needed.

A notification names the rows that ended. A slow poll by the caller covers what a lost connection
missed, and databases without notifications.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from river_core.drivers.base import Driver, Listener
from river_core.errors import DatabaseError
from river_core.notifier import TOPIC_DONE, Notifier


class ResultWaiter:
    """Wakes waiters when their rows end. Safe for any number of threads; after a fork it starts anew."""

    def __init__(self, driver: Driver, poll_only: bool = False) -> None:
        """Listen on `driver` from the first wait on, unless callers poll alone."""
        self._driver = driver
        self.poll_only = poll_only
        """Whether nothing is heard, so that callers must look often."""
        self._forget()

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._notifier: Notifier | None = None
        self._waiting: dict[int, list[threading.Event]] = defaultdict(list)

    @contextmanager
    def subscription(self, row_id: int) -> Iterator[threading.Event]:
        """Give an event that is set whenever the row may have ended; the caller looks and clears it.

        Subscribe before looking at the row, so that no ending falls between.
        """
        if self._pid != os.getpid():
            self._forget()
        event = threading.Event()
        with self._lock:
            self._waiting[row_id].append(event)
            self._start()
        try:
            yield event
        finally:
            with self._lock:
                self._remove(row_id, event)

    def _start(self) -> None:
        if self._notifier is not None or self.poll_only:
            return
        notifier = Notifier(self._driver, (TOPIC_DONE,), name="river-results")
        notifier.subscribe(TOPIC_DONE, self._heard)
        notifier.on_connect.append(self._look_again)
        try:
            notifier.start()
        except DatabaseError:
            # Polling still finds the result, or reports why it cannot; the next wait tries again.
            return
        self._notifier = notifier

    def _remove(self, row_id: int, event: threading.Event) -> None:
        self._waiting[row_id].remove(event)
        if not self._waiting[row_id]:
            del self._waiting[row_id]

    def _heard(self, payload: dict[str, Any]) -> None:
        with self._lock:
            if payload.get("more"):
                events = [event for waiting in self._waiting.values() for event in waiting]
            else:
                events = [
                    event for row_id in payload.get("ids", ()) for event in self._waiting.get(row_id, ())
                ]
        for event in events:
            event.set()

    def _look_again(self, listener: Listener) -> None:
        for waiting in list(self._waiting.values()):
            for event in list(waiting):
                event.set()

    def close(self) -> None:
        """Stop listening; a later wait starts anew."""
        if self._pid != os.getpid():
            self._forget()
        with self._lock:
            notifier, self._notifier = self._notifier, None
        if notifier is not None:
            notifier.stop()
