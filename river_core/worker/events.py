"""Lets users and tests follow what a worker does (River: Subscribe).

An event is sent after its outcome is written; its kind follows the row that the write left. A full
subscription drops the newest event with a warning and never holds up a worker.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from river_core.db.queues import QueueRow
from river_core.errors import ValidationError
from river_core.job import JobRow, JobState

BUFFER_DEFAULT = 1000
logger = logging.getLogger(__name__)


class EventKind(StrEnum):
    """What can happen (River: EventKind)."""

    JOB_CANCELLED = "job_cancelled"
    JOB_COMPLETED = "job_completed"
    JOB_FAILED = "job_failed"
    JOB_INTERRUPTED = "job_interrupted"
    JOB_SNOOZED = "job_snoozed"
    QUEUE_PAUSED = "queue_paused"
    QUEUE_RESUMED = "queue_resumed"


_KIND_OF_STATE = {
    JobState.COMPLETED: EventKind.JOB_COMPLETED,
    JobState.CANCELLED: EventKind.JOB_CANCELLED,
    JobState.DISCARDED: EventKind.JOB_FAILED,
    JobState.RETRYABLE: EventKind.JOB_FAILED,
    JobState.SCHEDULED: EventKind.JOB_SNOOZED,
}


@dataclass(frozen=True, slots=True)
class JobStatistics:
    """How long the parts of an attempt took, in seconds, never below 0 (River: JobStatistics)."""

    queue_wait: float
    """From when the job was due to the start of the attempt."""
    run: float
    """From the start of the attempt to its outcome."""
    complete: float
    """From the outcome to its write."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened (River: Event).

    `job` is the row after the write, with `statistics`; `queue` is the queue as it is now, for events
    of queues.
    """

    kind: EventKind
    job: JobRow | None = None
    queue: QueueRow | None = None
    statistics: JobStatistics | None = None


def kind_of(row_state: JobState, decided: EventKind) -> EventKind | None:
    """Return the kind for a row that was left in `row_state`, None for states that give no event.

    `decided` is what the executor meant; it counts only for rows that are available again.
    """
    if row_state is JobState.AVAILABLE:
        own = (EventKind.JOB_FAILED, EventKind.JOB_INTERRUPTED, EventKind.JOB_SNOOZED)
        return decided if decided in own else EventKind.JOB_FAILED
    return _KIND_OF_STATE.get(row_state)


class Subscription:
    """A bounded mailbox of events; iterate over it, or `get` with a time limit."""

    def __init__(self, bus: EventBus, kinds: frozenset[EventKind], size: int) -> None:
        """Made by `EventBus.subscribe`."""
        self.kinds = kinds
        self._bus = bus
        self._queue: queue.Queue[Event | None] = queue.Queue(size)

    def get(self, timeout: float | None = None) -> Event | None:
        """Return the next event; None when closed and empty, or after `timeout` seconds."""
        if timeout is None and self._bus.is_closed(self):
            timeout = 0.0
        try:
            event = self._queue.get(timeout=timeout) if timeout != 0.0 else self._queue.get_nowait()
        except queue.Empty:
            return None
        if self._bus.is_closed(self):
            self._end()
        return event

    def __iter__(self) -> Iterator[Event]:
        """Yield events until the subscription is closed and read to its end."""
        while (event := self.get()) is not None:
            yield event

    def offer(self, event: Event) -> None:
        """Take an event, or drop it with a warning when full."""
        try:
            self._queue.put_nowait(event)
        except queue.Full:
            logger.warning("a subscription is full; an event was dropped", extra={"kind": event.kind})

    def close(self) -> None:
        """End the subscription; what is buffered stays readable. Harmless twice."""
        if self._bus.remove(self):
            self._end()

    def _end(self) -> None:
        """Wake a reader; each one that wakes does so for the next."""
        with suppress(queue.Full):  # then nobody waits, and the next to read comes here
            self._queue.put_nowait(None)


class EventBus:
    """Hands events to the subscriptions that want them."""

    def __init__(self) -> None:
        """Start without subscriptions."""
        self._lock = threading.Lock()
        self._subscriptions: tuple[Subscription, ...] = ()

    @property
    def wanted(self) -> bool:
        """Whether anybody listens."""
        return bool(self._subscriptions)

    def subscribe(self, *kinds: EventKind | str, size: int = BUFFER_DEFAULT) -> Subscription:
        """Follow events of `kinds`, all when none is named; at most `size` wait to be read.

        Raises ValidationError for an unknown kind or a size below 1.
        """
        if size < 1:
            raise ValidationError(f"a subscription holds at least 1 event, not {size}")
        subscription = Subscription(self, _checked(kinds), size)
        with self._lock:
            self._subscriptions += (subscription,)
        return subscription

    def is_closed(self, subscription: Subscription) -> bool:
        """Return whether a subscription was closed."""
        return subscription not in self._subscriptions

    def remove(self, subscription: Subscription) -> bool:
        """Forget a subscription; return whether it was known."""
        with self._lock:
            known = subscription in self._subscriptions
            self._subscriptions = tuple(item for item in self._subscriptions if item is not subscription)
        return known

    def publish(self, event: Event) -> None:
        """Hand an event to everyone who wants its kind."""
        for subscription in self._subscriptions:
            if event.kind in subscription.kinds:
                subscription.offer(event)

    def close(self) -> None:
        """Close every subscription."""
        for subscription in self._subscriptions:
            subscription.close()


def _checked(kinds: Iterable[EventKind | str]) -> frozenset[EventKind]:
    try:
        return frozenset(EventKind(kind) for kind in kinds) or frozenset(EventKind)
    except ValueError as error:
        raise ValidationError(f"{error}; kinds are {', '.join(EventKind)}") from error
