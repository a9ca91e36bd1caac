"""Waits for rows to finish: one thread, one listening connection and one reading connection a process.

A notification names the rows that ended; the thread then reads all of those that somebody waits for in
one query, and tells each waiter. A slow poll covers what a lost connection missed, rows whose ids are
not known yet, and databases without notifications. So the cost of waiting does not grow with the
number of those who wait.

Where few wait, each looks for itself, and one who waits alone listens in its own thread: to wake another
thread takes about as long as to run a small task.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from river_core.drivers.base import Driver, Listener
from river_core.errors import DatabaseError
from river_core.notifier import TOPIC_DONE, Notifier

SLOW_POLL_SECONDS = 1.0
CROWD = 16
PACE_SECONDS = 0.01
"""With more than CROWD waiters, the least time between two looks: one query then serves many endings."""

logger = logging.getLogger(__name__)


class Awaited(Protocol):
    """Something that will end, such as a result."""

    @property
    def awaited_row(self) -> int | None:
        """The row whose end is to be looked at, None while it is not known."""
        ...


Look = Callable[[Sequence[Any]], Iterable[tuple[Any, BaseException | None]]]
"""Reads all of the awaited things at once; gives those that have ended, or why waiting is in vain."""


class Watch:
    """One waiter's interest in one thing; `settled` is called once, from the thread that watches."""

    __slots__ = ("awaited", "dirty", "heard", "interval", "look", "next_look", "settled")

    def __init__(
        self,
        awaited: Awaited,
        look: Look,
        settled: Callable[[BaseException | None], None],
        interval: float,
        looks_now: bool = True,
        heard: Callable[[], object] | None = None,
    ) -> None:
        """Look at once, and every `interval` seconds where no notification can be hoped for.

        Without `looks_now` the waiter looks for itself, after the watch has begun. `heard` is called at a
        notification, where few wait: then its waiter calls `look_at`.
        """
        self.awaited = awaited
        self.look = look
        self.settled = settled
        self.interval = interval
        self.heard = heard
        self.dirty = looks_now
        self.next_look = 0.0 if looks_now else time.monotonic() + min(interval, SLOW_POLL_SECONDS)


class ResultWaiter:
    """Tells waiters when their rows end. Safe for any number of threads; after a fork it starts anew."""

    def __init__(self, driver: Driver, poll_only: bool = False) -> None:
        """Listen on `driver` from the first wait on, unless callers poll alone."""
        self._driver = driver
        self._poll_only = poll_only
        self._forget()

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._reading = threading.Lock()
        self._watches: set[Watch] = set()
        self._notifier: Notifier | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def _after_fork(self) -> None:
        if self._pid != os.getpid():
            self._forget()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let one thread at a time read for those who wait: a thousand need no more than one connection."""
        self._after_fork()
        with self._reading:
            yield

    @property
    def hears(self) -> bool:
        """Whether a notification is heard from now on, and a lost connection is made up for."""
        self._after_fork()
        return self._notifier is not None

    def watch(self, watches: Collection[Watch]) -> None:
        """Look at these from now on, until they are settled or taken back."""
        self._after_fork()
        with self._lock:
            self._closed = False
            self._watches.update(watches)
            if self._thread is None and self._watches:
                self._thread = threading.Thread(target=self._run, name="river-waiting", daemon=True)
                self._thread.start()
        if any(watch.dirty for watch in watches):
            self._woken.set()
            if (notifier := self._notifier) is not None:
                notifier.keep_listening()  # nobody may wait in a thread of one's own

    def look_again(self, watches: Collection[Watch]) -> None:
        """Look at these now."""
        with self._lock:
            for watch in watches:
                watch.dirty = True
        if watches:
            self._woken.set()

    def look_at(self, watches: Collection[Watch]) -> None:
        """Look, in the calling thread, at those of these that a notification named."""
        self._look_at(self._due(watches))

    def wait(self, event: threading.Event, seconds: float | None, watches: Collection[Watch]) -> None:
        """Wait up to `seconds` for an event of one's own watches; who waits alone listens meanwhile."""
        until = math.inf if seconds is None else time.monotonic() + seconds
        notifier, is_alone = self._notifier, len(self._watches) <= len(watches)
        if event.is_set() or (notifier is not None and is_alone and notifier.hear(until, event)):
            return
        if notifier is not None and not event.is_set():
            notifier.keep_listening()  # who listened last may have begun to wait here, too
        event.wait(None if until == math.inf else max(until - time.monotonic(), 0.0))

    def unwatch(self, watches: Iterable[Watch]) -> None:
        """Take back what is not settled."""
        with self._lock:
            self._watches.difference_update(watches)
            notifier = self._notifier if self._watches else None
        if notifier is not None:
            notifier.listen_again()  # this thread may have listened for the others, too

    # -- in the thread

    def _run(self) -> None:
        thread = threading.current_thread()
        self._listen()
        idle_since = time.monotonic()
        while True:
            self._woken.wait(self._pause())
            self._woken.clear()
            self._look_at(self._due())
            now = time.monotonic()
            idle_since = now if self._watches else idle_since
            if (self._closed or now - idle_since > SLOW_POLL_SECONDS) and self._ends(thread):
                return
            if len(self._watches) > CROWD:
                time.sleep(PACE_SECONDS)

    def _ends(self, thread: threading.Thread) -> bool:
        """End an idle thread; the listening connection stays for the next one."""
        with self._lock:
            if self._watches or self._thread is not thread:
                return False
            self._thread = None
            return True

    def _pause(self) -> float:
        with self._lock:
            if any(watch.dirty for watch in self._watches):
                return 0.0
            due = min((watch.next_look for watch in self._watches), default=None)
        return SLOW_POLL_SECONDS if due is None else max(due - time.monotonic(), 0.0)

    def _due(self, among: Collection[Watch] | None = None) -> list[Watch]:
        now, due = time.monotonic(), []
        with self._lock:
            for watch in self._watches if among is None else self._watches.intersection(among):
                if watch.dirty or watch.next_look <= now:
                    watch.dirty = False
                    due.append(watch)
        return due

    def _look_at(self, due: list[Watch]) -> None:
        by_look: dict[Look, list[Watch]] = {}
        for watch in due:
            by_look.setdefault(watch.look, []).append(watch)
        for look, watches in by_look.items():
            rows = [watch.awaited.awaited_row for watch in watches]
            self._settle(watches, self._ended(look, watches))
            self._plan(watches, rows)

    def _plan(self, watches: list[Watch], rows: list[int | None]) -> None:
        """Say when to look again: at once where another row took over, whose end may have been missed."""
        heard, now = self._notifier is not None, time.monotonic()
        with self._lock:
            for watch, row in zip(watches, rows, strict=True):
                known = watch.awaited.awaited_row
                watch.dirty = watch.dirty or known != row
                watch.next_look = now + (SLOW_POLL_SECONDS if heard and known is not None else watch.interval)

    def _ended(self, look: Look, watches: list[Watch]) -> dict[int, BaseException | None]:
        items = {id(watch.awaited): watch.awaited for watch in watches}
        try:
            with self._reading:
                return {id(item): error for item, error in look(list(items.values()))}
        except Exception as error:  # noqa: BLE001 - whoever waits must hear why, whatever it is
            return dict.fromkeys(items, error)

    def _settle(self, watches: list[Watch], ended: dict[int, BaseException | None]) -> None:
        over = [watch for watch in watches if id(watch.awaited) in ended]
        with self._lock:
            over = [watch for watch in over if watch in self._watches]
            self._watches.difference_update(over)
        for watch in over:
            try:
                watch.settled(ended[id(watch.awaited)])
            except Exception:
                logger.exception("a callback for the end of a task has failed")
        if over and (notifier := self._notifier) is not None:
            notifier.interrupt()

    # -- notifications

    def _listen(self) -> None:
        if self._notifier is not None or self._poll_only:
            return
        notifier = Notifier(self._driver, (TOPIC_DONE,), name="river-results")
        notifier.subscribe(TOPIC_DONE, self._heard)
        notifier.on_connect.append(self._look_at_all)
        try:
            notifier.start()
        except DatabaseError:
            # Polling still finds the result, or reports why it cannot; the next thread tries again.
            return
        self._notifier = notifier

    def _heard(self, payload: dict[str, Any]) -> None:
        ids = None if payload.get("more") else set(payload.get("ids", ()))
        with self._lock:
            named = [watch for watch in self._watches if ids is None or watch.awaited.awaited_row in ids]
            for watch in named:
                watch.dirty = True
            few = len(self._watches) <= CROWD
        told = [watch.heard for watch in named if few and watch.heard is not None]
        for tell in told:
            tell()
        if len(told) < len(named):
            self._woken.set()

    def _look_at_all(self, listener: Listener) -> None:
        self._heard({"more": True})

    def close(self) -> None:
        """Stop listening; a later wait starts anew."""
        self._after_fork()
        with self._lock:
            notifier, self._notifier = self._notifier, None
            self._closed = True
        self._woken.set()
        if notifier is not None:
            notifier.stop()
