"""Claims the jobs of one queue for free slots and hands them out (River: producer).

It fetches at start, on an insert notification, when a slot frees after a full fetch, when the next
job falls due, and on a slow poll; two fetches are at least the cool-down apart.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from river_core.db import work
from river_core.db.statement import Dialect
from river_core.db.work import ANY_ATTEMPTS, Claimed
from river_core.drivers.base import Driver
from river_core.errors import ConfigurationError
from river_core.job import JobRow
from river_core.notifier import Notifier
from river_core.plugins import Metric
from river_core.service import Service
from river_core.worker.ahead import SPARE_ATTEMPTS, Reservation
from river_core.worker.gate import Gate
from river_core.worker.slots import ThreadSlots

MAX_WORKERS = 10_000
MIN_SECONDS = 0.001
SHORT_REST_SECONDS = 0.01
"""For a shorter cool-down nobody else need begin to listen."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """One queue of a worker (River: QueueConfig). Times in seconds, None for the worker's own."""

    max_workers: int
    fetch_cooldown: float | None = None
    fetch_poll_interval: float | None = None

    def __post_init__(self) -> None:
        """Raise ConfigurationError for values outside River's limits."""
        if not 1 <= self.max_workers <= MAX_WORKERS:
            raise ConfigurationError(f"max_workers must be 1 to {MAX_WORKERS}, not {self.max_workers!r}")


@dataclass(frozen=True, slots=True)
class Pacing:
    """How often a producer may and must fetch, in seconds."""

    cooldown: float
    poll: float

    def __post_init__(self) -> None:
        """Raise ConfigurationError for values outside River's limits."""
        if self.cooldown < MIN_SECONDS or self.poll < self.cooldown:
            raise ConfigurationError(
                f"fetch_cooldown ({self.cooldown}) must be at least {MIN_SECONDS} s and fetch_poll_interval "
                f"({self.poll}) at least as long"
            )


class Producer(Service):
    """One queue's thread that claims."""

    def __init__(
        self,
        driver: Driver,
        client_id: str,
        queue: str,
        slots: ThreadSlots,
        pacing: Pacing,
        kinds: Sequence[str] | None,
        may_claim: Callable[[], bool],
        emit: Sequence[Callable[[Metric], None]] = (),
        on_claimed: Callable[[Sequence[JobRow]], None] | None = None,
        gate: Gate | None = None,
        durable: bool = True,
        notifier: Callable[[], Notifier | None] = lambda: None,
    ) -> None:
        """Claim jobs of `queue`, of `kinds` only where given, while `may_claim` says so.

        `emit` are told how long each claim took and how much it brought; `on_claimed` is given the rows
        before the slots are. `gate` decides which of them are to run. Where not `durable`, claims of jobs
        that may run again are committed without waiting for the disk. An idle producer listens in the place
        of `notifier`'s own thread, so that nobody has to wake it.
        """
        super().__init__(f"river-producer-{queue}")
        self.queue = queue
        self.slots = slots
        self.paused = False
        self.metadata = "{}"
        self.leaving = False
        self._driver = driver
        self._client_id = client_id
        self.pacing = pacing
        self._kinds = kinds
        self._may_claim = may_claim
        self._emit = emit
        self._on_claimed = on_claimed
        self._gate = gate
        self._durable = durable
        self._notifier = notifier
        self._listens = False
        self._wants_slots = False
        self._next_fetch = 0.0
        self._ahead_now = False
        self._found_all = False

    def wake(self) -> None:
        """Let the loop take its next turn now."""
        super().wake()
        notifier = self._notifier() if self._listens else None
        if notifier is not None:
            notifier.interrupt()

    def wait(self, seconds: float | None) -> bool:
        """Sleep as `Service.wait` does, and listen meanwhile if nobody else does."""
        until = math.inf if seconds is None else time.monotonic() + seconds
        notifier = self._notifier()
        if notifier is not None and not (self.stopping or self._awake.is_set()):
            self._listens = True
            notifier.hear(until, self._awake)
            self._listens = False
        return super().wait(None if seconds is None else max(until - time.monotonic(), 0.0))

    def slot_freed(self) -> None:
        """Fetch again if the last fetch took all that was free; called by slots."""
        if self._wants_slots:
            self._wants_slots = False
            self.wake()

    def set_paused(self, paused: bool) -> bool:
        """Stop or resume claiming; running jobs go on. Return whether that changed anything."""
        changed = self.paused != paused
        self.paused = paused
        if changed and not paused:
            self.wake()
        return changed

    def run_once(self) -> float | None:
        """Claim once; return the seconds until the next poll or due job."""
        rest = self._next_fetch - time.monotonic()
        if rest > 0 and self._keep_cooldown(rest):
            return 0
        if self.paused or not self._may_claim() or self._kinds == ():
            return self._poll_seconds()
        self._wants_slots = True
        places = self.slots.reserve()
        return self._claim(places) if places.total else self._poll_seconds()

    def _keep_cooldown(self, seconds: float) -> bool:
        """Wait, while others may need what this thread would hear; return whether to stop."""
        notifier = self._notifier() if seconds > SHORT_REST_SECONDS else None
        if notifier is not None:
            notifier.keep_listening()
        return self.pause(seconds)

    def _claim(self, places: Reservation) -> float:
        """Fetch for the places: every other time, if jobs may wait at all, for them too.

        In between only free slots are filled, with any job, so that those that may not be claimed
        ahead have their turn. With several free slots that is also the first look after one that found all
        there was: most often it does so again, and nothing is left to be looked for once more.
        """
        fills_slots = places.free and (self._ahead_now or (self._found_all and places.free > 1))
        self._ahead_now = places.ahead > 0 and not fills_slots
        limit = places.total if self._ahead_now else places.free
        spare = SPARE_ATTEMPTS if self._ahead_now else ANY_ATTEMPTS
        claimed = Claimed([], None)
        rows: Sequence[JobRow] = ()
        self._next_fetch = time.monotonic() + self.pacing.cooldown
        try:
            claimed = self._fetch(limit, spare)
            rows = claimed.rows
            if claimed.rows and self._on_claimed is not None:
                self._on_claimed(claimed.rows)
            if claimed.rows and self._gate is not None:
                rows = ()
                rows = self._gate.admit(claimed.rows)
        finally:
            self._wants_slots = len(claimed.rows) == limit
            self._found_all = not (self._ahead_now or self._wants_slots)
            self.slots.submit(list(rows), places.total)
        if (
            self.paused
        ):  # since this claim was begun: what has no thread yet must not wait for the end of the pause
            self.slots.give_back_waiting()
        if len(claimed.rows) == limit:
            return self._poll_seconds()
        return self.pacing.cooldown if self._ahead_now else self._until_due(claimed.next_due)

    def _fetch(self, limit: int, spare: int) -> Claimed:
        sql = self._driver.sql if self._durable else self._driver.sql.relaxed
        statement = work.job_get_available(sql, self.queue, self._client_id, limit, self._kinds, spare)
        began = time.monotonic()
        with self._driver.connect() as connection:
            claimed = work.decode_claim(sql, connection.fetch(statement))
            if self._emit:
                self._emit_metrics(time.monotonic() - began, len(claimed.rows))
            if sql.dialect is Dialect.SQLITE and len(claimed.rows) < limit:
                [(seconds,)] = connection.fetch(work.job_next_due(sql, self.queue))
                return replace(claimed, next_due=seconds)
        return claimed

    def _emit_metrics(self, seconds: float, count: int) -> None:
        """Tell the plugins; rows are claimed already, so what a plugin raises is only logged."""
        for emit in self._emit:
            try:
                emit(Metric("job_get_available_duration", seconds, self.queue))
                emit(Metric("job_get_available_count", count, self.queue))
            except Exception:
                logger.exception("metric_emit of a plugin raised", extra={"queue": self.queue})

    def _until_due(self, seconds: float | None) -> float:
        poll = self._poll_seconds()
        return poll if seconds is None else min(max(seconds, MIN_SECONDS), poll)

    def _poll_seconds(self) -> float:
        poll = self.pacing.poll
        return poll + random.uniform(0, max(poll * 0.1, 0.01))  # noqa: S311 - jitter, no secret
