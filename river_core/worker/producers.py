"""The producers of a worker by queue name, which change while it runs (River: QueueBundle).

Every change replaces the whole table, so that other threads read it without a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from river_core.errors import RiverError
from river_core.worker.all_slots import AllSlots, seconds_left
from river_core.worker.producer import Producer, QueueConfig

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
    def slots(self) -> AllSlots:
        """All slots, each once: queues may share theirs."""
        return AllSlots(producer.slots for producer in list(self._table.values()))

    @property
    def dead(self) -> Sequence[Producer]:
        """The producers whose threads have ended though their queues are not being removed."""
        with self._lock:
            return [item for item in self._table.values() if item.ended and not item.leaving]

    def make(self, name: str, config: QueueConfig) -> Producer:
        """Make the producer of one more queue; it is neither in the table nor started."""
        return self._make(name, config)

    def begin(self, producer: Producer) -> None:
        """Let a producer claim: one that is new, or one of a queue that was leaving, whose jobs go on."""
        producer.join()
        with self._lock:
            self._table = {**self._table, producer.queue: producer}
            producer.start()
            producer.leaving = False

    def leave(self, name: str) -> Producer:
        """Stop claiming for a queue; its jobs are looked after as before. Return its producer.

        Raises RiverError in one of those jobs, which would wait for itself.
        """
        producer = self._table[name]
        if producer.slots.runs_here(name):
            raise RiverError(
                f"a job of queue {name!r} cannot wait for its own end; remove the queue elsewhere"
            )
        with self._lock:
            producer.leaving = True
            producer.ask_stop()
        return producer

    def slot_freed(self) -> None:
        """Tell all that a slot is free."""
        for producer in self._table.values():
            producer.slot_freed()

    def wake(self, queues: Iterable[str]) -> None:
        """Let those of `queues` claim that are worked here."""
        for queue in queues:
            if (producer := self.get(queue)) is not None:
                producer.wake()

    def wake_all(self) -> None:
        """Let all claim."""
        for producer in self._table.values():
            producer.wake()

    def ask_stop(self) -> None:
        """Ask all to end."""
        for producer in self._table.values():
            producer.ask_stop()

    def wait_claimed(self, until: float | None) -> bool:
        """Wait, until a monotonic time at most, for claims on their way; return whether nobody claims."""
        return not [producer for producer in self._table.values() if not producer.join(seconds_left(until))]

    def forget(self, producer: Producer) -> bool:
        """Forget a producer that was told to leave, once it claims no more and has no jobs.

        Returns whether it is forgotten.
        """
        name = producer.queue
        if producer.alive or producer.slots.count_of(name):
            return False
        with self._lock:
            if self._table.get(name) is producer:
                self._table = {key: value for key, value in self._table.items() if key != name}
                if all(other.slots is not producer.slots for other in self._table.values()):
                    producer.slots.close()
        return True
