"""The composition root of the runtime: which parts a started worker has, and how they are joined.

Parts that receive are started before parts that claim, and stopped after them.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from river_core.db.notifications import TOPIC_CONTROL, TOPIC_INSERT
from river_core.drivers.base import Driver
from river_core.job import JobState
from river_core.notifier import TOPIC_LEADERSHIP, Notifier, Payload
from river_core.plugins import PluginSet, overridden
from river_core.service import Service
from river_core.worker.all_slots import AllSlots
from river_core.worker.attendant import Attendant
from river_core.worker.completer import DRAIN_SECONDS, Completer
from river_core.worker.completion import Completion
from river_core.worker.context import Context
from river_core.worker.elector import Elector
from river_core.worker.event_loop import EventLoop
from river_core.worker.executing import make_executor
from river_core.worker.gate import gate_of
from river_core.worker.identity import LOCKED, POLL_ONLY, new_id
from river_core.worker.leading import make_elector
from river_core.worker.liveness import LivenessLock, lockable
from river_core.worker.loop_in_place import LoopInPlace
from river_core.worker.making_slots import slots_maker
from river_core.worker.orphans import OrphanWatch
from river_core.worker.outcome_writer import OutcomeWriter
from river_core.worker.producer import Producer, QueueConfig
from river_core.worker.producers import Producers
from river_core.worker.recovery import Recovery
from river_core.worker.refresher import AttemptRefresher
from river_core.worker.waiting_sweep import WaitingSweep

STOP_SERVICE_SECONDS = 10.0
LOCK_PAUSE_SECONDS = 1.0
"""Between two tries to have a session back: without its lock a worker claims nothing."""

logger = logging.getLogger(__name__)


class Parts:
    """Everything that has a thread in one start of a worker."""

    def __init__(self, context: Context) -> None:
        """Build all parts; nothing starts, and only SQLite's file may be looked at."""
        config, driver, clock = context.config, context.driver, context.config.clock
        self.id = new_id(config, LOCKED if lockable(driver, config.poll_only) else POLL_ONLY)
        self._config = config
        self._claims_no_more = False
        self.plugins = PluginSet(config.plugins, context.registry)
        self.executor = make_executor(context.registry, config, self.plugins)
        self.stage = context.stage
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
            driver, self.id, self._running_ids, config.refresh_attempts_after, clock=clock
        )
        self.orphans = OrphanWatch(driver, self.id, self._known_ids, clock)
        self.sweep = WaitingSweep(
            driver, context.registry, context.limiter, self.executor.broken, self._wake_queues
        )
        self.notifier = None if config.poll_only else self._notifier(driver)
        self.elector = None if config.leader_election_disabled else self._make_elector(context)

    def _producers(self, context: Context) -> Producers:
        config = context.config
        kinds = context.registry.kinds() if config.fetch_only_known_kinds else None
        finished = self.completer.put
        make_slots = slots_maker(context, self.executor, self.completer, self._slot_freed, self.loop)
        shared = make_slots("river-job", config.max_workers) if config.max_workers else None
        gate = gate_of(config.companions, self.executor, finished)

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
                lambda: self.notifier,
            )

        return Producers(context.queues, make)

    def _notifier(self, driver: Driver) -> Notifier:
        heard = [topic for item in self.companions for topic in item.topics().items()]
        topics = (TOPIC_INSERT, TOPIC_CONTROL, TOPIC_LEADERSHIP, *(topic for topic, _ in heard))
        notifier = Notifier(driver, tuple(dict.fromkeys(topics)), longest_pause=LOCK_PAUSE_SECONDS)
        for topic, callback in heard:
            notifier.subscribe(topic, callback)
        notifier.subscribe(TOPIC_INSERT, self._inserted)
        notifier.subscribe(TOPIC_CONTROL, self.attendant.control)
        notifier.on_connect.append(lambda _: self.look_again())
        notifier.on_connect.append(self.recovery.notice_connection)
        self.lock.attach(notifier)
        return notifier

    def _make_elector(self, context: Context) -> Elector:
        before_start = overridden(self.plugins.plugins, "periodic_jobs_start")
        return make_elector(context, self.id, self.notifier, before_start)

    # -- running

    @property
    def slots(self) -> AllSlots:
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

    def _written(self, batch: Sequence[Completion], states: dict[int, JobState]) -> None:
        """Look at once for what the flush itself made available, whatever the notify limiter held back."""
        queues = {item.row.queue for item in batch if states.get(item.row.id) is JobState.AVAILABLE}
        queues.update(entry.params.queue for item in batch for entry in item.change.follow_ups)
        self.producers.wake(queues)
        self._tell(batch, states)

    def look_again(self) -> None:
        """Fetch, and read settings and marks: notifications may have been missed."""
        for companion in self.companions:
            companion.look_again()
        self.attendant.poll_now()
        self.producers.wake_all()

    def _slot_freed(self) -> None:
        self.producers.slot_freed()

    def _wake_queues(self, queues: Collection[str]) -> None:
        self.producers.wake(queues)

    def _inserted(self, payload: Payload) -> None:
        self.producers.wake([str(payload.get("queue"))])

    def _running_ids(self) -> list[int]:
        return self.slots.ids()

    def _known_ids(self) -> set[int]:
        return {*self.slots.ids(), *self.completer.ids()}

    def abandon_all(self) -> None:
        """End every running job as fast as can be, child processes by killing them."""
        self.slots.abandon()

    # -- life

    def start(self) -> None:
        """Register the queues and start every thread; raises DatabaseError."""
        self.attendant.register_queues()
        self.slots.open()
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
        self.producers.ask_stop()

    def wait_drained(self, until: float | None) -> bool:
        """Wait, until a monotonic time at most, for the last job to end; return whether it has."""
        if not self.producers.wait_claimed(until):
            return False
        self.slots.give_back_waiting()
        return self.slots.wait_drained(until)

    def stop(self) -> None:
        """End every thread; the completer writes what it still has before."""
        self.stop_claiming()
        for producer in self.producers.values():
            producer.join(STOP_SERVICE_SECONDS)
        self.slots.close()
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


def _go_on() -> None:
    logger.warning("what runs here goes on, and may run elsewhere as well (abandon_without_lock is False)")
