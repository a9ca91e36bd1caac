"""Looks after what a notification may have missed: queue settings, cancellations, time-outs.

Every two seconds it reads the worker's queue rows and the cancellation marks of its running jobs; a
control message makes it act at once (River: the producers' polling of control state).
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable

from river_core.database_clock import DatabaseClock
from river_core.db import queues, work
from river_core.db.queues import QueueRow
from river_core.drivers.base import Connection, Driver
from river_core.notifier import Payload
from river_core.service import Service
from river_core.worker.events import Event, EventBus, EventKind
from river_core.worker.producer import Producer
from river_core.worker.producers import Producers
from river_core.worker.slots import ThreadSlots

TURN_SECONDS = 0.25
CONTROL_POLL_SECONDS = 2.0
MAX_WAIT_SECONDS = 0.25
"""A job that was claimed ahead and has no thread after this time goes to whoever is idle."""
QUEUE_REPORT_SECONDS = 600.0
MAX_QUEUES = 10_000

logger = logging.getLogger(__name__)


class Attendant(Service):
    """One thread for all queues of a worker."""

    def __init__(
        self,
        driver: Driver,
        producers: Producers,
        events: EventBus,
        look: Callable[[], None],
        database_clock: DatabaseClock | None = None,
    ) -> None:
        """Attend to `producers` by queue name; `look` is called at every turn."""
        super().__init__("river-attendant")
        self._driver = driver
        self._producers = producers
        self._events = events
        self._look = look
        self._database_clock = database_clock
        self._next_poll = 0.0
        self._heard = 0
        self._settings = threading.Lock()
        self._overtime: tuple[float, Callable[[], object]] | None = None
        self._next_report = time.monotonic() + QUEUE_REPORT_SECONDS

    def register_queues(self) -> None:
        """Create or refresh the rows of all queues (River: QueueCreateOrSetUpdatedAt)."""
        for producer in list(self._producers.values()):
            self.register(producer)

    def register(self, producer: Producer) -> None:
        """Create or refresh the row of a producer's queue; take its paused flag and metadata from it."""
        with self._driver.connect() as connection:
            [row] = connection.fetch(queues.queue_create_or_set_updated_at(self._driver.sql, producer.queue))
        queue = queues.decode_queue(row)
        producer.paused = queue.paused_at is not None
        producer.metadata = queue.encoded_metadata

    def expect_stop(self, seconds: float, overtime: Callable[[], object]) -> None:
        """Call `overtime` once when the jobs have had `seconds` to finish; the first call counts."""
        if self._overtime is None:
            self._overtime = (time.monotonic() + seconds, overtime)

    def poll_now(self) -> None:
        """Read settings and marks at the next turn, which comes at once."""
        self._next_poll = 0.0
        self.wake()

    def control(self, payload: Payload) -> None:
        """Act on one control message; unknown actions are ignored."""
        action, queue = payload.get("action"), payload.get("queue")
        if action == "cancel":
            producer = self._producers.get(str(queue))
            if producer is not None and isinstance(payload.get("job_id"), int):
                self._cancel(payload["job_id"], [producer.slots])
        elif action in ("pause", "resume") and isinstance(queue, str):
            self._hear_paused(queue, action == "pause")
        elif action == "metadata_changed":
            self.poll_now()  # the row has it exactly, and also when it was too long for the message

    def run_once(self) -> float:
        """Enforce time-outs; every two seconds also read queue settings and cancellation marks."""
        for slots in self._producers.slots:
            slots.expire()
            if slots.claims_ahead:
                slots.give_back_waiting(older_than=MAX_WAIT_SECONDS)
        self._look()
        now = time.monotonic()
        if self._overtime is not None and now >= self._overtime[0]:
            self._overtime[1]()
            self._overtime = (math.inf, self._overtime[1])
        if now >= self._next_poll:
            self._next_poll = now + CONTROL_POLL_SECONDS
            self._poll_cancellations()
            self._poll_queues()
        if now >= self._next_report:
            self._next_report = now + QUEUE_REPORT_SECONDS
            self.register_queues()
        return TURN_SECONDS

    def _poll_cancellations(self) -> None:
        ids = [job_id for slots in self._producers.slots for job_id in slots.ids()]
        if not ids:
            return
        with self._driver.connect() as connection:
            for row in connection.fetch(work.job_get_cancelled_many(self._driver.sql, ids)):
                self._cancel(row[0], self._producers.slots)

    def _hear_paused(self, queue: str, paused: bool) -> None:
        with self._settings:
            self._heard += 1
            for name in list(self._producers) if queue == queues.ALL_QUEUES else (queue,):
                self._set_paused(name, paused)

    def _poll_queues(self) -> None:
        heard = self._heard
        with self._driver.connect() as connection:
            found = self._queues_by_the_clock(connection)
        with self._settings:
            if heard != self._heard:
                self.poll_now()  # what was read may be older than what was heard meanwhile
                return
            for queue in found:
                self._set_paused(queue.name, queue.paused_at is not None, queue)
                if (producer := self._producers.get(queue.name)) is not None:
                    producer.metadata = queue.encoded_metadata

    def _queues_by_the_clock(self, connection: Connection) -> list[QueueRow]:
        """Read the queues, and with them the database's time, which costs no statement of its own so."""
        clock = self._database_clock
        before = time.monotonic()
        rows = connection.fetch(queues.queue_list_timed(self._driver.sql, MAX_QUEUES))
        after = time.monotonic()
        found, told = queues.decode_timed_queues(rows)
        if clock is not None and clock.is_due:
            if told is None:
                clock.follow_on(connection)
            else:
                clock.hear(told, before, after)
        return found

    def _set_paused(self, name: str, paused: bool, queue: QueueRow | None = None) -> None:
        producer = self._producers.get(name)
        if producer is not None and producer.set_paused(paused):
            if paused:
                producer.slots.give_back_waiting()
            logger.info("queue %s is %s", name, "paused" if paused else "resumed")
            if self._events.wanted:
                kind = EventKind.QUEUE_PAUSED if paused else EventKind.QUEUE_RESUMED
                self._events.publish(Event(kind, queue=queue or self._queue(name)))

    def _queue(self, name: str) -> QueueRow | None:
        with self._driver.connect() as connection:
            rows = connection.fetch(queues.queue_get(self._driver.sql, name))
        return queues.decode_queue(rows[0]) if rows else None

    def _cancel(self, job_id: int, places: Iterable[ThreadSlots]) -> None:
        for slots in places:
            if slots.cancel(job_id):
                logger.info("job %d was cancelled from outside", job_id, extra={"job_id": job_id})
