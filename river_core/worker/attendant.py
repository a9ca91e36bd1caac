"""Looks after what a notification may have missed: queue settings, cancellations, time-outs.

Every two seconds it reads the worker's queue rows and the cancellation marks of its running jobs; a
control message makes it act at once (River: the producers' polling of control state).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence

from river_core.db import queues, work
from river_core.db.queues import QueueRow
from river_core.drivers.base import Driver
from river_core.errors import JobCancelError
from river_core.notifier import Payload
from river_core.service import Service
from river_core.worker.events import Event, EventBus, EventKind
from river_core.worker.producer import Producer
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

    def __init__(self, driver: Driver, producers: Mapping[str, Producer], events: EventBus) -> None:
        """Attend to `producers` by queue name."""
        super().__init__("river-attendant")
        self._driver = driver
        self._producers = producers
        self._events = events
        self._next_poll = 0.0
        self._next_report = time.monotonic() + QUEUE_REPORT_SECONDS

    @property
    def _slots(self) -> Sequence[ThreadSlots]:
        return list({id(producer.slots): producer.slots for producer in self._producers.values()}.values())

    def register_queues(self) -> None:
        """Create or refresh the queue rows and take their paused flags (River: QueueCreateOrSetUpdatedAt)."""
        sql = self._driver.sql
        with self._driver.connect() as connection:
            for name, producer in self._producers.items():
                [row] = connection.fetch(queues.queue_create_or_set_updated_at(sql, name))
                producer.paused = queues.decode_queue(row).paused_at is not None

    def poll_now(self) -> None:
        """Read settings and marks at the next turn, which comes at once."""
        self._next_poll = 0.0
        self.wake()

    def control(self, payload: Payload) -> None:
        """Act on one control message; unknown actions are ignored."""
        action, queue = payload.get("action"), payload.get("queue")
        if action == "cancel" and isinstance(payload.get("job_id"), int):
            self._cancel(payload["job_id"])
        elif action in ("pause", "resume") and isinstance(queue, str):
            for name in self._producers if queue == queues.ALL_QUEUES else (queue,):
                self._set_paused(name, action == "pause")

    def run_once(self) -> float:
        """Enforce time-outs; every two seconds also read queue settings and cancellation marks."""
        for slots in self._slots:
            slots.expire()
            if slots.claims_ahead:
                slots.give_back_waiting(older_than=MAX_WAIT_SECONDS)
        now = time.monotonic()
        if now >= self._next_poll:
            self._next_poll = now + CONTROL_POLL_SECONDS
            self._poll_cancellations()
            self._poll_queues()
        if now >= self._next_report:
            self._next_report = now + QUEUE_REPORT_SECONDS
            self.register_queues()
        return TURN_SECONDS

    def _poll_cancellations(self) -> None:
        ids = [job_id for slots in self._slots for job_id in slots.ids()]
        if not ids:
            return
        with self._driver.connect() as connection:
            for row in connection.fetch(work.job_get_cancelled_many(self._driver.sql, ids)):
                self._cancel(row[0])

    def _poll_queues(self) -> None:
        with self._driver.connect() as connection:
            rows = connection.fetch(queues.queue_list(self._driver.sql, MAX_QUEUES))
        for row in rows:
            queue = queues.decode_queue(row)
            self._set_paused(queue.name, queue.paused_at is not None, queue)

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

    def _cancel(self, job_id: int) -> None:
        for slots in self._slots:
            if slots.stop_job(job_id, JobCancelError):
                logger.info("job %d was cancelled from outside", job_id, extra={"job_id": job_id})
