"""A worker's life: start, drain, interrupt, stop.

A stop goes in steps: no more claims, running jobs finish or are interrupted, rows of those that do
neither are given back, and all outcomes are written before the connections close.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from river_core.client import Client
from river_core.clock import SystemClock
from river_core.database_clock import DatabaseClock
from river_core.db import jobs, work
from river_core.drivers.base import Driver
from river_core.errors import ConfigurationError, RiverError
from river_core.inserting import InsertNotifyLimiter
from river_core.job import JobRow, JobState
from river_core.periodic import PeriodicJobs
from river_core.task import Registry
from river_core.worker.all_slots import AllSlots
from river_core.worker.completion import Completion
from river_core.worker.config import WorkerConfig
from river_core.worker.context import Context
from river_core.worker.events import EventBus
from river_core.worker.job_events import job_events, rows_to_read
from river_core.worker.jobs_here import JobHere
from river_core.worker.main_thread import MainThreadSlots
from river_core.worker.parts import Parts
from river_core.worker.processes.launch import launch
from river_core.worker.processes.starting import Starter
from river_core.worker.producer import MAX_WORKERS
from river_core.worker.queue_calls import QueueCalls

FINALIZE_SECONDS = 5.0

logger = logging.getLogger(__name__)


class Worker(QueueCalls):
    """Runs the jobs of its queues until it is stopped (River: Client with Workers and Queues)."""

    def __init__(self, driver: Driver, registry: Registry, config: WorkerConfig) -> None:
        """Take what is needed; nothing connects or starts. Raises ConfigurationError."""
        super().__init__(config)
        if len(registry) == 0 and not config.leads_only:
            raise ConfigurationError("a worker needs at least one registered task")
        self.driver = driver
        self.registry = registry
        self.config = config
        self.events = EventBus()
        self.limiter = InsertNotifyLimiter(config.fetch_cooldown)
        self.client = Client(
            driver,
            registry=registry if len(registry) else None,
            clock=config.clock,
            limiter=self.limiter,
            plugins=config.plugins,
            parity=config.parity,
        )
        self.periodic_jobs = PeriodicJobs(config.periodic_jobs, may_lead=not config.leader_election_disabled)
        """The jobs that this worker inserts while it leads; may be changed at any time."""
        self.interrupted = False
        """Whether a stop had to interrupt or give back jobs, or could not write what they did."""
        self._stop_lock = threading.Lock()
        self._parts: Parts | None = None
        self._stage: Starter | None = None
        for companion in config.companions:
            companion.worker = self

    def prepare(self) -> None:
        """Fork what will fork the child processes, where jobs run in some; `start` does it otherwise.

        To be called with everything imported, and before this process has threads or connections.
        """
        if self.config.processes is not None and self._stage is None:
            self._stage = launch(self.registry, self.config, self.client, self.config.processes)

    @property
    def id(self) -> str:
        """The client id of this start, as `attempted_by` holds it; empty before the first start."""
        return self._parts.id if self._parts is not None else ""

    @property
    def _slots(self) -> AllSlots:
        return self._parts.slots if self._parts is not None else AllSlots()

    @property
    def active(self) -> int:
        """How many jobs are claimed and not finished."""
        return self._slots.active

    def jobs_here(self) -> list[JobHere]:
        """Return the jobs that are claimed and not finished, as they are now, oldest first."""
        return self._slots.jobs_here()

    @property
    def pids(self) -> list[int]:
        """The processes in which jobs run: the children, or this one."""
        return self._slots.pids

    @property
    def size(self) -> int:
        """How many jobs run at once at most."""
        return self._slots.size

    @property
    def least(self) -> int:
        """How many child processes stay when there is little to do; 0 where jobs run in threads."""
        return self._slots.least

    def resize(self, size: int, least: int | None = None) -> None:
        """Let so many jobs run at once from now on, where `max_workers` bounds all queues together.

        `least` is how many child processes stay when there is little to do, None for as many as before.
        Raises ConfigurationError on a worker that runs jobs in the main thread, or by queues.
        """
        if self.config.main_thread or self.config.max_workers is None:
            raise ConfigurationError(
                "only a worker with max_workers, and not in the main thread, can be resized"
            )
        if not 1 <= size <= MAX_WORKERS:
            raise ConfigurationError(f"a worker runs 1 to {MAX_WORKERS} jobs at once, not {size!r}")
        self._slots.resize(size, least)

    def start(self) -> None:
        """Connect, register the queues and begin to claim (River: Client.Start).

        Raises OperationalError when the database cannot be reached or listened to, and DatabaseError
        when River's schema is missing; nothing runs then.
        """
        with self._queues_lock:
            self._start()

    def _start(self) -> None:
        if self.started:
            return
        self.prepare()
        database_clock = self._connect()
        self.interrupted = False
        parts = Parts(self._context(database_clock))
        try:
            parts.start()
        except BaseException:
            parts.stop()
            self._end_stage()
            raise
        self._parts = parts
        logger.info("worker %s works %s", self.id, ", ".join(self._queues) or "no queue")

    def _connect(self) -> DatabaseClock | None:
        """See that the database is there; return what follows its clock, unless a test set one."""
        database_clock = DatabaseClock(self.driver) if isinstance(self.config.clock, SystemClock) else None
        with self.driver.connect() as connection:
            if database_clock is None:
                connection.fetch(work.ping(self.driver.sql))
            else:
                database_clock.follow_on(connection)
        return database_clock

    def _context(self, database_clock: DatabaseClock | None) -> Context:
        return Context(
            self.driver,
            self.registry,
            self._effective_config(),
            self.client,
            self.limiter,
            self.events,
            self._written,
            self.periodic_jobs,
            self._queues.copy(),
            self._stage,
            database_clock,
        )

    def _effective_config(self) -> WorkerConfig:
        """Poll where the server cannot notify, whatever was configured; it is known once connected to."""
        if self.driver.sql.server.notifies:
            return self.config
        return replace(self.config, poll_only=True)

    @property
    def started(self) -> bool:
        """Whether the worker runs; after `request_stop` it does until a `stop` that waits."""
        return self._running

    def run_jobs(self, timeout: float) -> None:
        """Run jobs in the calling thread for up to `timeout` seconds (`main_thread` workers only)."""
        for slots in self._slots:
            if isinstance(slots, MainThreadSlots):
                slots.run_next(timeout)

    def dead_parts(self, quiet: bool) -> list[str]:
        """Return the names of parts whose threads ended by themselves; those that claim may when `quiet`."""
        return self._parts.dead(quiet) if self._parts is not None else []

    def _end_stage(self) -> None:
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.close()

    def terminate_job(self, job_id: int, attempt: int, number: int = signal.SIGTERM) -> bool:
        """End one attempt that is here by a signal to its child process; return whether it was here.

        No other job is hit, however late this comes. A thread gets JobCancelError raised in it instead.
        What is recorded is `Task.lost`, unless the task hears the signal and succeeds.
        """
        return self._slots.terminate(job_id, attempt, number)

    def tell_children(self, key: str, told: Any) -> None:
        """Give each child process something to `ProcessConfig.child_told`, also those that are started later.

        The last that was told under a key counts. It must be picklable.
        """
        self._slots.tell(key, told)

    # -- telling of outcomes

    def _written(self, batch: Sequence[Completion], states: dict[int, JobState]) -> None:
        if not self.events.wanted:
            return
        rows = self._rows(rows_to_read(batch, states))
        for event in job_events(batch, states, rows, self.config.clock.now()):
            self.events.publish(event)

    def _rows(self, ids: list[int]) -> dict[int, JobRow]:
        if not ids:
            return {}
        sql = self.driver.sql
        with self.driver.connect() as connection:
            rows = connection.fetch(jobs.job_get_by_id_many(sql, ids))
        return {row.id: row for row in (jobs.decode_job(sql, row) for row in rows)}

    # -- stopping

    def request_stop(self) -> None:
        """Stop claiming and leading, and return at once (River for Ruby: stop(wait: false)).

        Running jobs go on, for `soft_stop_timeout` at most. A later `stop` waits for them and ends all.
        """
        parts, grace = self._parts, self.config.soft_stop_timeout
        if parts is None:
            return
        if grace is not None:
            parts.attendant.expect_stop(grace, self._interrupt)
        parts.stop_claiming()

    def _interrupt(self) -> None:
        """End what still runs after the time that a stop gave it."""
        if self._parts is not None:
            self.interrupted = self.interrupted or self.active > 0
            self._parts.slots.interrupt()

    def wait_drained(self, timeout: float | None) -> bool:
        """Wait up to `timeout` seconds until nothing is claimed any more; return whether that is so."""
        until = None if timeout is None else time.monotonic() + timeout
        return self._parts is None or self._parts.wait_drained(until)

    def stop(self, timeout: float | None = None) -> bool:
        """Drain for up to `timeout` seconds, None for `soft_stop_timeout`, then end (River: Client.Stop).

        Jobs that still run after the time are interrupted and given back. Returns whether every job
        finished by itself. Raises RiverError when called from a job of this worker. Harmless twice.
        """
        return self._stop(timeout, FINALIZE_SECONDS)

    def stop_and_cancel(self, timeout: float = FINALIZE_SECONDS) -> bool:
        """Interrupt running jobs at once and wait up to `timeout` seconds for them (River: StopAndCancel)."""
        return self._stop(0, timeout)

    def _stop(self, drain: float | None, finalize: float) -> bool:
        parts = self._parts
        if parts is None:
            return True
        if parts.slots.owns_current_thread():
            raise RiverError("a job cannot wait for its own worker to stop; use request_stop()")
        with self._stop_lock:
            if self.started:
                self._end_jobs(parts, drain, finalize)
                parts.stop()
                self._end_stage()
                self.interrupted = self.interrupted or parts.completer.lost > 0
                self.events.close()
                logger.info("worker %s has stopped", parts.id)
        return not self.interrupted

    def _end_jobs(self, parts: Parts, drain: float | None, finalize: float) -> None:
        self.request_stop()
        if self.wait_drained(drain):
            return
        until = time.monotonic() + finalize
        self._interrupt()
        if not parts.wait_drained(until):
            parts.slots.give_back()
