"""The composition root of the runtime: which parts a started worker has, and how they are joined.

Parts that receive are started before parts that claim, and stopped after them.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from river_core.client import Client
from river_core.database_clock import DatabaseClock
from river_core.db.notifications import TOPIC_CONTROL, TOPIC_INSERT
from river_core.drivers.base import Driver
from river_core.inserting import InsertNotifyLimiter
from river_core.job import JobState
from river_core.notifier import TOPIC_LEADERSHIP, Notifier, Payload
from river_core.periodic import PeriodicJobs
from river_core.plugins import PluginSet, overridden
from river_core.service import Service
from river_core.task import Job, Registry
from river_core.worker.attendant import Attendant
from river_core.worker.companion import Companion, admitting
from river_core.worker.completer import DRAIN_SECONDS, Completer, Written
from river_core.worker.completion import Completion
from river_core.worker.config import WorkerConfig
from river_core.worker.elector import Elector
from river_core.worker.event_loop import EventLoop
from river_core.worker.events import EventBus
from river_core.worker.executing import make_executor
from river_core.worker.identity import LOCKED, POLL_ONLY, client_id, marked_id
from river_core.worker.liveness import LivenessLock, lockable
from river_core.worker.loop_in_place import LoopInPlace
from river_core.worker.main_thread import MainThreadSlots
from river_core.worker.maintenance.group import MaintenanceServices
from river_core.worker.orphans import OrphanWatch
from river_core.worker.outcome_writer import OutcomeWriter
from river_core.worker.processes.config import ProcessConfig
from river_core.worker.processes.slots import ProcessSlots
from river_core.worker.processes.starting import Starter
from river_core.worker.producer import Gate, Producer, QueueConfig
from river_core.worker.producers import Producers
from river_core.worker.recovery import Recovery
from river_core.worker.refresher import AttemptRefresher
from river_core.worker.slots import ThreadSlots
from river_core.worker.stuck import StuckJobs
from river_core.worker.waiting_sweep import WaitingSweep

STOP_SERVICE_SECONDS = 10.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Context:
    """What the parts are made from."""

    driver: Driver
    registry: Registry
    config: WorkerConfig
    client: Client
    limiter: InsertNotifyLimiter
    events: EventBus
    written: Written
    periodic_jobs: PeriodicJobs
    queues: Mapping[str, QueueConfig]
    stage: Starter | None = None
    """What forks the children, where jobs run in processes."""
    database_clock: DatabaseClock | None = None
    """What lets this process follow the database's clock, unless a test set one."""


class Parts:
    """Everything that has a thread in one start of a worker."""

    def __init__(self, context: Context) -> None:
        """Build all parts; nothing starts, and only SQLite's file may be looked at."""
        config, driver, clock = context.config, context.driver, context.config.clock
        self.id = new_id(driver, config)
        self._config = config
        self._claims_no_more = False
        self.plugins = PluginSet(config.plugins, context.registry)
        self.executor = make_executor(context.registry, config, self.plugins)
        self.stage = context.stage
        self.stuck = StuckJobs(config.job_stuck_threshold, config.job_stuck_handler)
        self._tell = context.written
        self.completer = Completer(
            OutcomeWriter(
                driver, self.id, context.limiter, self.executor.broken, config.notify_kind, self._wake_queues
            ),
            self.executor.rejected,
            self._written,
        )
        self.lock = LivenessLock(driver, self.id, self.abandon_all if config.abandon_without_lock else _go_on)
        self.loop = LoopInPlace() if config.main_thread else EventLoop()
        self.companions = list(config.companions)
        self.producers = self._producers(context)
        self.attendant = Attendant(
            driver, self.producers, context.events, self.loop.look, context.database_clock
        )
        self.recovery = Recovery(driver, self.id, clock=clock)
        self.refresher = AttemptRefresher(
            driver, self.id, self.running_ids, config.refresh_attempts_after, clock=clock
        )
        self.orphans = OrphanWatch(driver, self.id, self._known_ids, clock)
        self.sweep = WaitingSweep(
            driver, context.registry, context.limiter, self.executor.broken, self._wake_queues
        )
        self.notifier = None if config.poll_only else self._notifier(driver)
        self.elector = None if config.leader_election_disabled else self._elector(context)

    def _producers(self, context: Context) -> Producers:
        config = context.config
        kinds = context.registry.kinds() if config.fetch_only_known_kinds else None
        make_slots = _slots_maker(context, self)
        shared = make_slots("river-job", config.max_workers) if config.max_workers else None
        gate = self._gate(config.companions)

        def make(name: str, queue: QueueConfig) -> Producer:
            return Producer(
                context.driver,
                self.id,
                name,
                shared or make_slots(f"river-{name}", queue.max_workers),
                config.pacing(queue),
                kinds,
                lambda: self.lock.trusted,
                overridden(self.plugins.plugins, "metric_emit"),
                config.internals.claimed,
                gate,
                config.durable_claims,
            )

        return Producers(context.queues, make)

    def _gate(self, companions: Sequence[Companion]) -> Gate | None:
        ask = admitting(companions)
        if ask is None:
            return None
        executor, put = self.executor, self.completer.put
        return Gate(
            ask,
            lambda row, outcome: put(executor.not_run(row, outcome)),
            lambda row: put(executor.interrupted(Job(row), started=False)),
        )

    def _notifier(self, driver: Driver) -> Notifier:
        heard = [topic for item in self.companions for topic in item.topics().items()]
        topics = (TOPIC_INSERT, TOPIC_CONTROL, TOPIC_LEADERSHIP, *(topic for topic, _ in heard))
        notifier = Notifier(driver, tuple(dict.fromkeys(topics)))
        for topic, callback in heard:
            notifier.subscribe(topic, callback)
        notifier.subscribe(TOPIC_INSERT, self._inserted)
        notifier.subscribe(TOPIC_CONTROL, self.attendant.control)
        notifier.on_connect.append(lambda _: self.look_again())
        notifier.on_connect.append(self.recovery.notice_connection)
        self.lock.attach(notifier)
        return notifier

    def _elector(self, context: Context) -> Elector:
        config = context.config
        maintenance = MaintenanceServices(
            context.driver,
            context.registry,
            config.maintenance(),
            allow=context.limiter.allowed_queues,
            clock=config.clock,
            client=context.client,
            periodic_jobs=context.periodic_jobs,
            before_start=overridden(self.plugins.plugins, "periodic_jobs_start"),
        )
        return Elector(
            context.driver,
            self.id,
            self.notifier,
            maintenance.start,
            lambda: _stop(maintenance),
            timing=config.internals.election_timing(),
        )

    # -- running

    @property
    def slots(self) -> Sequence[ThreadSlots]:
        """All slots, each once."""
        return self.producers.slots

    def add_queue(self, name: str, config: QueueConfig) -> None:
        """Begin to work one more queue, or anew one that is leaving.

        Raises DatabaseError, and then nothing has changed.
        """
        leaving = self.producers.get(name)
        producer = self.producers.make(name, config) if leaving is None else leaving
        self.attendant.register(producer)
        if leaving is None:
            producer.slots.open()
        else:
            self._retune(leaving, config)
        self.producers.begin(producer)
        self.attendant.poll_now()  # the queue may have been paused since its row was read
        if self._claims_no_more:
            producer.ask_stop()

    def _retune(self, producer: Producer, config: QueueConfig) -> None:
        """Let a queue that comes back be worked as it is asked for now."""
        producer.pacing = self._config.pacing(config)
        if self._config.max_workers is None and not self._config.main_thread:
            producer.slots.resize(config.max_workers)

    def freed(self) -> None:
        """Tell the producers that a slot is free."""
        for producer in self.producers.values():
            producer.slot_freed()

    def _written(self, batch: Sequence[Completion], states: dict[int, JobState]) -> None:
        """Look at once for what the flush itself made available, whatever the notify limiter held back."""
        queues = {item.row.queue for item in batch if states.get(item.row.id) is JobState.AVAILABLE}
        queues.update(entry.params.queue for item in batch for entry in item.change.follow_ups)
        self._wake_queues(queues)
        self._tell(batch, states)

    def _wake_queues(self, queues: Collection[str]) -> None:
        for queue in queues:
            if (producer := self.producers.get(queue)) is not None:
                producer.wake()

    def _inserted(self, payload: Payload) -> None:
        producer = self.producers.get(str(payload.get("queue")))
        if producer is not None:
            producer.wake()

    def look_again(self) -> None:
        """Fetch, and read settings and marks: notifications may have been missed."""
        for companion in self.companions:
            companion.look_again()
        self.attendant.poll_now()
        for producer in self.producers.values():
            producer.wake()

    def running_ids(self) -> list[int]:
        """Return the ids of all jobs in slots."""
        return [job_id for slots in self.slots for job_id in slots.ids()]

    def _known_ids(self) -> set[int]:
        return {*self.running_ids(), *self.completer.ids()}

    def interrupt_all(self) -> None:
        """Tell every running job to end, and raise JobInterruptedError inside those that can hear it.

        Nothing begins afterwards, whatever claims on their way bring.
        """
        for slots in self.slots:
            slots.refuse_new()
            slots.interrupt_all()

    def abandon_all(self) -> None:
        """End every running job as fast as can be, child processes by killing them."""
        for slots in self.slots:
            slots.abandon()

    # -- life

    def start(self) -> None:
        """Register the queues and start every thread; raises DatabaseError."""
        self.attendant.register_queues()
        for slots in self.slots:
            slots.open()
        self.completer.start()
        if self.notifier is not None:
            self.notifier.start()
        for service in (self.lock, *self._lookouts(), self.elector):
            if service is not None:
                service.start()
        for companion in self.companions:
            companion.before_claims()
            companion.start()
        for producer in self.producers.values():
            producer.start()

    def _lookouts(self) -> tuple[Service, ...]:
        """The services that look after rows that nobody else speaks of."""
        return (self.recovery, self.refresher, self.orphans, self.sweep, self.attendant)

    def stop_claiming(self) -> None:
        """Ask the producers to end, and the elector, whose term others may take while this one drains."""
        self._claims_no_more = True
        if self.elector is not None:
            self.elector.ask_stop()
        for producer in self.producers.values():
            producer.ask_stop()

    def give_back_waiting(self) -> None:
        """Give back what was claimed ahead and has no thread; producers must have ended."""
        for slots in self.slots:
            slots.give_back_waiting()

    def wait_drained(self, until: float | None) -> bool:
        """Wait, until a monotonic time at most, for the last job to end; return whether it has."""
        claimed = self.wait_claimed(until)
        if claimed:
            self.give_back_waiting()
        return claimed and all(slots.wait_drained(_left(until)) for slots in self.slots)

    def wait_claimed(self, until: float | None) -> bool:
        """Wait, until a monotonic time at most, for claims on their way; return whether nobody claims."""
        return not [item for item in self.producers.values() if not item.join(_left(until))]

    def stop(self) -> None:
        """End every thread; the completer writes what it still has before."""
        self.stop_claiming()
        for producer in self.producers.values():
            producer.join(STOP_SERVICE_SECONDS)
        for slots in self.slots:
            slots.close()
        self.loop.stop(STOP_SERVICE_SECONDS)
        for service in (self.elector, *self._lookouts()):
            if service is not None:
                service.stop(STOP_SERVICE_SECONDS)
        for companion in self.companions:
            companion.stop(STOP_SERVICE_SECONDS)
        self.completer.stop(STOP_SERVICE_SECONDS + DRAIN_SECONDS)
        for holder in (self.lock, self.notifier):
            if holder is not None:
                holder.stop(STOP_SERVICE_SECONDS)

    def dead(self, quiet: bool) -> list[str]:
        """Return the names of parts whose threads ended by themselves; those that claim may when `quiet`."""
        parts: list[Service | None] = [self.completer, self.attendant, self.notifier, self.lock]
        if not quiet:
            parts.extend((self.elector, *self.producers.dead))
        names = [part.name for part in parts if part is not None and part.ended]
        if self.stage is not None and not self.stage.alive:
            names.append(self.stage.name)
        return [*names, self.loop.thread_name] if self.loop.dead else names


def new_id(driver: Driver, config: WorkerConfig) -> str:
    """Return a client id for one start: the configured name or River's default form, nonce and marker."""
    if config.id and config.internals.exact_id:
        return config.id
    marker = LOCKED if lockable(driver, config.poll_only) else POLL_ONLY
    if config.id:
        return marked_id(config.id, marker)
    return client_id(socket.gethostname(), config.clock.now(), marker)


def _slots_maker(context: Context, parts: Parts) -> Callable[[str, int], ThreadSlots]:
    main_thread = context.config.main_thread
    kind = MainThreadSlots if main_thread else ThreadSlots
    if context.config.processes is not None and context.stage is not None:
        return _process_slots_maker(context, parts, context.stage, context.config.processes)

    def make(name: str, size: int) -> ThreadSlots:
        return kind(
            name,
            1 if main_thread else size,
            parts.executor,
            context.client,
            parts.completer.put,
            parts.freed,
            parts.loop,
            claim_ahead=context.config.claim_ahead,
            stuck=parts.stuck,
        )

    return make


def _process_slots_maker(
    context: Context, parts: Parts, stage: Starter, config: ProcessConfig
) -> Callable[[str, int], ThreadSlots]:
    def make(name: str, size: int) -> ThreadSlots:
        return ProcessSlots(
            name,
            size,
            parts.executor,
            context.client,
            parts.completer.put,
            parts.freed,
            parts.loop,
            stage,
            config,
            claim_ahead=context.config.claim_ahead,
        )

    return make


def _go_on() -> None:
    logger.warning("what runs here goes on, and may run elsewhere as well (abandon_without_lock is False)")


def _stop(maintenance: MaintenanceServices) -> None:
    maintenance.stop()


def _left(until: float | None) -> float | None:
    return None if until is None else max(until - time.monotonic(), 0.0)
