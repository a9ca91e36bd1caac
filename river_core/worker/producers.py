"""The producers of a worker by queue name, which change while it runs (River: QueueBundle).

Every change replaces the whole table, so that other threads read it without a lock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from river_core.errors import RiverError
from river_core.worker.producer import Producer, QueueConfig
from river_core.worker.slots import ThreadSlots

LOOK_SECONDS = 0.05

Make = Callable[[str, QueueConfig], Producer]


class Producers(Mapping[str, Producer]):
    """Who claims for which queue. Changed and read by any thread."""

    def __init__(self, queues: Mapping[str, QueueConfig], make: Make) -> None:
        """Make one producer for each queue; none is started."""
        self._make = make
        self._lock = threading.Lock()
        self._table: dict[str, Producer] = {name: make(name, config) for name, config in queues.items()}

    def __getitem__(self, name: str) -> Producer:
        """Return the producer of a queue."""
        return self._table[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names as they are now."""
        return iter(self._table)

    def __len__(self) -> int:
        """Return how many queues are worked."""
        return len(self._table)

    @property
    def slots(self) -> list[ThreadSlots]:
        """All slots, each once: queues may share theirs."""
        return list({id(producer.slots): producer.slots for producer in list(self._table.values())}.values())

    @property
    def claiming(self) -> Sequence[Producer]:
        """The producers of queues that are not being removed."""
        return [producer for producer in list(self._table.values()) if not producer.leaving]

    def add(self, name: str, config: QueueConfig) -> Producer:
        """Make the producer of one more queue; it is not started."""
        producer = self._make(name, config)
        with self._lock:
            self._table = {**self._table, name: producer}
        return producer

    def remove(self, name: str, timeout: float | None) -> bool:
        """Stop claiming for a queue, wait up to `timeout` seconds for its jobs, and forget it.

        Until then its jobs are looked after as before. Returns whether it is forgotten. Raises RiverError
        in one of those jobs, which would wait for itself.
        """
        producer = self._table[name]
        if producer.slots.runs_here(name):
            raise RiverError(
                f"a job of queue {name!r} cannot wait for its own end; remove the queue elsewhere"
            )
        producer.leaving = True
        until = None if timeout is None else time.monotonic() + timeout
        producer.ask_stop()
        if not producer.join(timeout):
            return False
        producer.slots.give_back_waiting(queue=name)
        while producer.slots.count_of(name):
            if until is not None and time.monotonic() >= until:
                return False
            time.sleep(LOOK_SECONDS)
        self._forget(name)
        return True

    def _forget(self, name: str) -> None:
        with self._lock:
            gone = self._table.get(name)
            self._table = {key: value for key, value in self._table.items() if key != name}
        if gone is not None and all(producer.slots is not gone.slots for producer in self._table.values()):
            gone.slots.close()
