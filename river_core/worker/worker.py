"""Builds a worker out of its parts and gives it one life: start, drain, interrupt, stop.

This is the composition root of the runtime. Parts that receive start before parts that claim; a stop
goes the other way: no more claims, running jobs finish or are interrupted, outcomes are written.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Sequence

from river_core.client import Client
from river_core.db import jobs, work
from river_core.drivers.base import Driver
from river_core.errors import ConfigurationError, RiverError
from river_core.inserting import InsertNotifyLimiter
from river_core.job import JobRow, JobState
from river_core.notifier import (
    TOPIC_CONTROL,
    TOPIC_INSERT,
    TOPIC_LEADERSHIP,
    Notifier,
    Payload,
)
from river_core.service import Service
from river_core.task import Registry
from river_core.worker.attendant import Attendant
from river_core.worker.completer import Completer, Completion
from river_core.worker.config import WorkerConfig
from river_core.worker.elector import Elector
from river_core.worker.events import Event, EventBus, kind_of
from river_core.worker.executor import Executor
from river_core.worker.identity import LOCKED, POLL_ONLY, client_id, marked_id
from river_core.worker.maintenance.group import MaintenanceConfig, MaintenanceServices
from river_core.worker.producer import Producer
from river_core.worker.slots import MainThreadSlots, ThreadSlots

TOPICS = (TOPIC_INSERT, TOPIC_CONTROL, TOPIC_LEADERSHIP)
FINALIZE_SECONDS = 5.0
STOP_SERVICE_SECONDS = 10.0

logger = logging.getLogger(__name__)


class Worker:
    """Runs the jobs of its queues until it is stopped (River: Client with Workers and Queues)."""

    def __init__(self, driver: Driver, registry: Registry, config: WorkerConfig) -> None:
        """Build everything; nothing connects or starts. Raises ConfigurationError."""
        if len(registry) == 0:
            raise ConfigurationError("a worker needs at least one registered task")
        marker = POLL_ONLY if config.poll_only else LOCKED
        name = config.id
        self.id = (
            marked_id(name, marker) if name else client_id(socket.gethostname(), config.clock.now(), marker)
        )
        self.driver = driver
        self.registry = registry
        self.config = config
        self.events = EventBus()
        self.limiter = InsertNotifyLimiter()
        self.client = Client(driver, registry=registry, clock=config.clock)
        self.executor = Executor(registry, config.retry_policy, config.clock, config.job_timeout)
        self.notifier: Notifier | None = None
        self.elector: Elector | None = None
        self.producers: dict[str, Producer] = {}
        self._stop_lock = threading.Lock()
        self._started = False
        self.interrupted = False
        """Whether a stop had to interrupt or give back jobs."""

    # -- starting

    def start(self) -> None:
        """Connect, register the queues and begin to claim (River: Client.Start).

        Raises OperationalError when the database cannot be reached or listened to, and DatabaseError
        when River's schema is missing; nothing runs then.
        """
        if self._started:
            return
        self._build()
        try:
            self._check_database()
            self.attendant.register_queues()
            self._start_services()
        except BaseException:
            self._stop_services()
            raise
        self._started = True
        logger.info("worker %s works %s", self.id, ", ".join(self.config.queues))

    def _build(self) -> None:
        config = self.config
        self.interrupted = False
        self.notifier = None if config.poll_only else Notifier(self.driver, TOPICS)
        self.maintenance = MaintenanceServices(
            self.driver,
            self.registry,
            MaintenanceConfig(
                rescue_after=config.rescue_stuck_jobs_after,
                job_timeout=config.job_timeout,
                retry_policy=config.retry_policy,
            ),
            allow=self.limiter.allowed_queues,
            clock=config.clock,
        )
        self.elector = None if config.leader_election_disabled else self._build_elector()
        self.completer = Completer(
            self.driver, self.id, self.limiter, self.executor.rejected, self._written, config.notify_kind
        )
        self.producers = self._build_producers()
        self.attendant = Attendant(self.driver, self.producers, self.events)
        if self.notifier is not None:
            self.notifier.subscribe(TOPIC_INSERT, self._inserted)
            self.notifier.subscribe(TOPIC_CONTROL, self.attendant.control)
            self.notifier.on_connect.append(lambda _: self._look_again())

    def _build_elector(self) -> Elector:
        return Elector(self.driver, self.id, self.notifier, self.maintenance.start, self.maintenance.stop)

    def _build_producers(self) -> dict[str, Producer]:
        config = self.config
        kinds = self.registry.kinds() if config.fetch_only_known_kinds else None
        shared = self._slots("river-job", config.max_workers) if config.max_workers else None
        producers: dict[str, Producer] = {}
        for name in config.queues:
            slots = shared or self._slots(f"river-{name}", config.queue(name).max_workers)
            pacing = config.pacing(name)
            producers[name] = Producer(self.driver, self.id, name, slots, pacing, kinds, self._may_claim)
        return producers

    def _slots(self, name: str, size: int) -> ThreadSlots:
        kind = MainThreadSlots if self.config.main_thread else ThreadSlots
        return kind(name, size, self.executor, self.client, self._finished, self._freed)

    def _check_database(self) -> None:
        with self.driver.connect() as connection:
            connection.fetch(work.ping(self.driver.sql))

    def _start_services(self) -> None:
        self.completer.start()
        if self.notifier is not None:
            self.notifier.start()
        self.attendant.start()
        if self.elector is not None:
            self.elector.start()
        for producer in self.producers.values():
            producer.start()

    # -- running

    def _may_claim(self) -> bool:
        return True

    def _finished(self, completion: Completion) -> None:
        self.completer.put(completion)

    def _freed(self) -> None:
        for producer in self.producers.values():
            producer.slot_freed()

    def _inserted(self, payload: Payload) -> None:
        producer = self.producers.get(str(payload.get("queue")))
        if producer is not None:
            producer.wake()

    def _look_again(self) -> None:
        self.attendant.poll_now()
        for producer in self.producers.values():
            producer.wake()

    def _written(self, batch: Sequence[Completion], states: dict[int, JobState]) -> None:
        if not self.events.wanted or not states:
            return
        after = self._rows(states)
        for item in batch:
            state, row = states.get(item.row.id), after.get(item.row.id)
            kind = kind_of(state, item.decided) if state is not None else None
            if kind is not None and row is not None:
                self.events.publish(Event(kind, row))

    def _rows(self, ids: dict[int, JobState]) -> dict[int, JobRow]:
        sql = self.driver.sql
        with self.driver.connect() as connection:
            rows = connection.fetch(jobs.job_get_by_id_many(sql, list(ids)))
        return {row.id: row for row in (jobs.decode_job(sql, row) for row in rows)}

    def run_jobs(self, timeout: float) -> None:
        """Run jobs in the calling thread for up to `timeout` seconds (`main_thread` workers only)."""
        for slots in self.slots:
            if isinstance(slots, MainThreadSlots):
                slots.run_next(timeout)

    def dead_parts(self, quiet: bool) -> list[str]:
        """Return the names of parts whose threads ended by themselves; producers may when `quiet`."""
        parts: list[Service | None] = [self.completer, self.attendant, self.notifier]
        if not quiet:
            parts.append(self.elector)
            parts.extend(self.producers.values())
        return [part.name for part in parts if part is not None and not part.alive]

    @property
    def slots(self) -> list[ThreadSlots]:
        """The distinct groups of slots."""
        return list({id(producer.slots): producer.slots for producer in self.producers.values()}.values())

    @property
    def active(self) -> int:
        """How many jobs are claimed and not finished."""
        return sum(slots.active for slots in self.slots)

    # -- stopping

    def request_stop(self) -> None:
        """Stop claiming and leading, and return at once (River for Ruby: stop(wait: false))."""
        if self.elector is not None:
            self.elector.ask_stop()
        for producer in self.producers.values():
            producer.ask_stop()

    def wait_drained(self, timeout: float | None) -> bool:
        """Wait up to `timeout` seconds until no job runs; return whether that is so."""
        until = None if timeout is None else time.monotonic() + timeout
        claiming = [producer for producer in self.producers.values() if not producer.join(_left(until))]
        return not claiming and all(slots.wait_drained(_left(until)) for slots in self.slots)

    def interrupt(self) -> None:
        """Tell every running job to end, and raise JobInterruptedError inside those that can hear it."""
        if self.active:
            self.interrupted = True
        for slots in self.slots:
            slots.interrupt_all()

    def give_back(self) -> None:
        """Write jobs that ignore the interruption as available again, with their attempt restored."""
        for slots in self.slots:
            slots.give_back()

    def stop(self, timeout: float | None = None) -> bool:
        """Drain for up to `timeout` seconds, None without limit, then end (River: Client.Stop).

        Jobs that still run after the time are interrupted and given back. Returns whether every job
        finished by itself. Raises RiverError when called from a job of this worker. Harmless twice.
        """
        return self._stop(timeout)

    def stop_and_cancel(self, timeout: float = FINALIZE_SECONDS) -> bool:
        """Interrupt running jobs at once and wait up to `timeout` seconds for them (River: StopAndCancel)."""
        return self._stop(0, timeout)

    def _stop(self, drain: float | None, finalize: float = FINALIZE_SECONDS) -> bool:
        if not self._started:
            return True
        if any(slots.owns_current_thread() for slots in self.slots):
            raise RiverError("a job cannot wait for its own worker to stop; use request_stop()")
        with self._stop_lock:
            if not self._started:
                return True
            self.request_stop()
            if not self.wait_drained(drain):
                self.interrupt()
                if not self.wait_drained(finalize):
                    self.give_back()
            self._stop_services()
            self._started = False
        return not self.interrupted

    def _stop_services(self) -> None:
        for producer in self.producers.values():
            producer.stop(STOP_SERVICE_SECONDS)
        for slots in self.slots:
            slots.close()
        if self.elector is not None:
            self.elector.stop(STOP_SERVICE_SECONDS)
        self.attendant.stop(STOP_SERVICE_SECONDS)
        self.completer.stop(STOP_SERVICE_SECONDS)
        if self.notifier is not None:
            self.notifier.stop(STOP_SERVICE_SECONDS)
        self.events.close()


def _left(until: float | None) -> float | None:
    return None if until is None else max(until - time.monotonic(), 0.0)
