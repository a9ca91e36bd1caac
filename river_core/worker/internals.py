"""What River's conformance adapter and tests change in a worker, and nobody else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from river_core.job import JobRow
from river_core.worker.elector import ElectionTiming


@dataclass(frozen=True, slots=True)
class Internals:
    """Private switches; no part of the public interface. Times are seconds, None leaves the default.

    `exact_id` takes the id as it is given: such a client holds no liveness lock. Without `staggered` the
    services of a leader begin at once. `claimed` is called with the rows of each claim that brought any, in
    the thread of the queue, before the rows reach their slots.
    """

    exact_id: bool = False
    staggered: bool = True
    elect_interval: float | None = None
    rescuer_interval: float | None = None
    scheduler_interval: float | None = None
    claimed: Callable[[Sequence[JobRow]], None] | None = None

    def election_timing(self) -> ElectionTiming:
        """Return the timing of elections; a term lasts as long as ever."""
        if self.elect_interval is None:
            return ElectionTiming()
        return ElectionTiming(interval=self.elect_interval, bid_jitter=min(self.elect_interval, 1.0))
