"""Waits, in the calling thread, until results have ended."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from river_compat.celery.exceptions import TimeoutError  # noqa: A004 - Celery's own
from river_compat.celery.pending import in_transaction
from river_compat.runtime import Runtime
from river_compat.waiting import Look, ResultWaiter, Watch

FEW = 4
"""Up to so many results a waiter looks at by itself."""
JUST_NOW_SECONDS = 0.002
LOOK_LATER_SECONDS = 0.01
"""After so long a waiter looks all the same at what was sent just now: its end may have been missed."""


class _Settled:
    """Collects, from the thread that watches, what has ended; the waiting thread takes it."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self._lock = threading.Lock()
        self._ended: list[Any] = []
        self._error: BaseException | None = None

    def take_note(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            self._ended.append(result)
            self._error = self._error or error
        self.event.set()

    def take(self) -> list[Any]:
        with self._lock:
            ended, self._ended = self._ended, []
            error = self._error
        if error is not None:
            raise error
        return ended


def wait_for(
    runtime: Runtime,
    look: Look,
    results: Sequence[Any],
    timeout: float | None,
    interval: float,
    on_interval: Callable[[], Any] | None = None,
    on_ended: Callable[[Any], None] | None = None,
) -> None:
    """Return once all results have ended; `look` reads them.

    `on_ended` is told of each that has, and may end the wait by an exception. Raises TimeoutError after
    `timeout` seconds, and what reading a result raises.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    waiter, settled = runtime.waiter, _Settled()
    if not _in_open_transactions(results):
        with waiter.reading():
            runtime.client.flush_notifications()  # before the look: workers begin meanwhile
    hears = waiter.hears
    heard = settled.event.set if len(results) <= FEW else None
    watches = [Watch(result, look, _noter(settled, result), interval, not hears, heard) for result in results]
    rows = [result.awaited_row for result in results]
    if hears:
        waiter.watch(watches)
    try:
        missing = {id(result): result for result in results}
        if hears and _have_begun_just_now(results) and (timeout is None or timeout > LOOK_LATER_SECONDS):
            waiter.wait(settled.event, LOOK_LATER_SECONDS, watches)
        if not settled.event.is_set():
            with waiter.reading():
                ended = _raising(look(results))
            _tell(on_ended, _taken(missing, ended))
            if not missing:
                return
            _pause(0.0, deadline)
            if hears:
                waiter.look_again(_moved(watches, rows))
            else:
                watches = [watch for watch in watches if id(watch.awaited) in missing]
                waiter.watch(watches)
        _await(waiter, watches, settled, missing, deadline, interval, on_interval, on_ended)
    finally:
        waiter.unwatch(watches)


def _have_begun_just_now(results: Sequence[Any]) -> bool:
    """Whether the tasks were sent a moment ago: none has ended yet, and a look would only be in the way."""
    now = time.monotonic()
    return all(now - getattr(result, "sent_at", -math.inf) < JUST_NOW_SECONDS for result in results)


def _in_open_transactions(results: Sequence[Any]) -> bool:
    """Whether a task was sent in a transaction that is still open: SQLite lets nobody else write then."""
    owners = (getattr(result, "joined", None) for result in results)
    return any(in_transaction(owner) for owner in owners if owner is not None)


def _moved(watches: Sequence[Watch], rows: Sequence[int | None]) -> list[Watch]:
    """Return those whose row is not known, or became known only now: its end may have been missed."""
    pairs = zip(watches, rows, strict=True)
    return [watch for watch, row in pairs if row is None or watch.awaited.awaited_row != row]


def _taken(missing: dict[int, Any], ended: Sequence[Any]) -> list[Any]:
    """Take results that have ended out of those that are missing; each is told of once."""
    return [result for result in ended if missing.pop(id(result), None) is not None]


def _tell(on_ended: Callable[[Any], None] | None, ended: Sequence[Any]) -> None:
    if on_ended is not None:
        for result in ended:
            on_ended(result)


def _noter(settled: _Settled, result: Any) -> Callable[[BaseException | None], None]:
    return lambda error: settled.take_note(result, error)


def _raising(ended: Any) -> list[Any]:
    results = []
    for result, error in ended:
        if error is not None:
            raise error
        results.append(result)
    return results


def _await(
    waiter: ResultWaiter,
    watches: Sequence[Watch],
    settled: _Settled,
    missing: dict[int, Any],
    deadline: float | None,
    interval: float,
    on_interval: Callable[[], Any] | None,
    on_ended: Callable[[Any], None] | None,
) -> None:
    while missing:
        pause = _pause(interval if on_interval is not None else None, deadline)
        waiter.wait(settled.event, pause, watches)
        settled.event.clear()  # what is heard from here on is looked at in the next turn
        waiter.look_at(watches)
        _tell(on_ended, _taken(missing, settled.take()))
        if on_interval is not None and missing:
            on_interval()


def _pause(seconds: float | None, deadline: float | None) -> float | None:
    """Return for how long to wait; raises TimeoutError behind the deadline."""
    if deadline is None:
        return seconds
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("The operation timed out.")
    return left if seconds is None else min(left, seconds)
