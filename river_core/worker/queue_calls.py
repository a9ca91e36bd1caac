"""The calls of a worker on its queues; `Worker` inherits them (River: QueueBundle)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from river_core.errors import ConfigurationError, NotFoundError
from river_core.job import decode_object
from river_core.task import Registry
from river_core.worker.config import WorkerConfig
from river_core.worker.parts import Parts
from river_core.worker.producer import Producer, QueueConfig
from river_core.worker.producers import Producers

LOOK_SECONDS = 0.05

Removal = Callable[..., bool]
"""Waits up to a timeout in seconds, None without limit; returns whether the queue is forgotten."""


@dataclass(frozen=True, slots=True)
class WorkedQueue:
    """One queue of a worker as it is now. Paused and metadata follow the queue's row within two seconds."""

    name: str
    config: QueueConfig
    active: int
    """How many of its jobs are claimed and not finished here."""
    paused: bool
    encoded_metadata: str

    leaving: bool = False
    """Whether nothing more is claimed for it: it is forgotten when its last job has ended."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the queue; raises JobRowDecodeError when it is no JSON object."""
        return decode_object("metadata", self.encoded_metadata)


class QueueCalls:
    """Adds, removes and shows the queues that a worker works."""

    config: WorkerConfig
    registry: Registry
    _parts: Parts | None

    def __init__(self, config: WorkerConfig) -> None:
        """Start with the queues of the configuration."""
        self._queues = {name: config.checked_queue(name, given) for name, given in config.queues.items()}
        self._queues_lock = threading.Lock()

    def queue_add(self, name: str, config: QueueConfig | int) -> None:
        """Work one more queue, at once where the worker has started (River: QueueBundle.Add).

        `config` is a QueueConfig or the number of its slots, which counts for nothing where the worker's own
        `max_workers` bounds all queues. Raises ConfigurationError for a queue that is worked already, for a
        name or number that River refuses, and on a worker without tasks; DatabaseError where the queue
        cannot be registered. A queue that is being removed is worked again, as `config` says now; its jobs
        that still run go on.
        """
        if len(self.registry) == 0:
            raise ConfigurationError("this worker has no registered task, so it cannot work a queue")
        queue = self.config.checked_queue(name, config)
        with self._queues_lock:
            if name in self._queues and not self._is_leaving(name):
                raise ConfigurationError(f"queue {name!r} is worked already; remove it first to change it")
            if self._parts is not None and self._running:
                self._parts.add_queue(name, queue)
            self._queues[name] = queue

    def queue_remove(self, name: str, timeout: float | None = None) -> bool:
        """Claim no more for a queue, wait for its running jobs, forget it (River: QueueBundle.Remove).

        Waits up to `timeout` seconds, None without limit, and returns whether it is forgotten; if not,
        nothing more is claimed and it may be removed again, unless `queue_add` was called meanwhile: then it
        is worked. Its jobs can be cancelled meanwhile. A worker whose last queue is removed stays. Raises
        NotFoundError for a queue that is not worked, RiverError in a job of that queue.
        """
        return self.queue_leave(name)(timeout)

    def queue_leave(self, name: str) -> Removal:
        """Claim no more for a queue from now on; return what removes it when it is called.

        That takes a timeout, waits and returns as `queue_remove` does. Raises what `queue_remove` raises.
        """
        with self._queues_lock:
            if name not in self._queues:
                raise NotFoundError(
                    f"queue {name!r} is not worked here; those that are: {', '.join(self._queues)}"
                )
            parts = self._parts
            if parts is None or name not in parts.producers:
                del self._queues[name]
                return lambda _=None: True
            return partial(self._remove, parts.producers, parts.producers.leave(name))

    def _remove(self, producers: Producers, producer: Producer, timeout: float | None = None) -> bool:
        until = None if timeout is None else time.monotonic() + timeout
        if producer.join(timeout) and producer.leaving:
            producer.slots.give_back_waiting(queue=producer.queue)
        while not self._is_removed(producers, producer):
            if not producer.leaving or (until is not None and time.monotonic() >= until):
                return False
            time.sleep(LOOK_SECONDS)
        return True

    def _is_removed(self, producers: Producers, producer: Producer) -> bool:
        """Forget a queue whose last job has ended; return whether it is forgotten."""
        with self._queues_lock:
            is_worked = producers.get(producer.queue) is producer
            if not producer.leaving or not producers.forget(producer):
                return False
            if is_worked:
                self._queues.pop(producer.queue, None)
            return True

    def _is_leaving(self, name: str) -> bool:
        producer = self._parts.producers.get(name) if self._parts is not None else None
        return producer is not None and producer.leaving

    def queue_states(self) -> list[WorkedQueue]:
        """Return the queues of this worker as they are now, in the order in which they were added."""
        producers = self._parts.producers if self._parts is not None else {}
        return [_state(name, config, producers.get(name)) for name, config in list(self._queues.items())]

    @property
    def _running(self) -> bool:
        return self._parts is not None and self._parts.completer.alive


def _state(name: str, config: QueueConfig, producer: Producer | None) -> WorkedQueue:
    if producer is None:
        return WorkedQueue(name, config, 0, False, "{}")
    active = producer.slots.count_of(name)
    return WorkedQueue(name, config, active, producer.paused, producer.metadata, producer.leaving)
