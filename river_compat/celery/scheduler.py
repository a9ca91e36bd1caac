"""The scheduler of a beat: which entries there are, and what one turn does with them."""

from __future__ import annotations

import copy
import heapq
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import TYPE_CHECKING, Any

from kombu.utils.functional import lazy

from river_compat.celery.beat_dispatch import Dispatch, OutageError, RefusedError
from river_compat.celery.beat_entries import Entries
from river_compat.celery.beat_heap import adjust, asked, event_t, when
from river_compat.celery.beat_stale import is_stale, ran_since
from river_compat.celery.beat_ticks import LastRun, TakenError, Ticks
from river_compat.celery.refused_names import lacking
from river_compat.celery.utils.functional import is_numeric_value
from river_compat.celery.utils.time import maybe_make_aware
from river_compat.celery.ways_out import NO_BROKER
from river_core.errors import DatabaseError

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

DEFAULT_MAX_INTERVAL = 300
RETRY_SECONDS = 2.0
PRIORITY = 5

logger = logging.getLogger("celery.beat")


@lacking(NO_BROKER, "connection")
class Scheduler(Entries, Dispatch):
    """Celery's scheduler: entries in memory. Subclass it and override its methods as with Celery.

    `ticks`, which a beat sets, is where runs are stored; without it nothing is, and every tick is sent.
    """

    max_interval: float = DEFAULT_MAX_INTERVAL
    logger = logger
    ticks: Ticks | None = None

    def __init__(
        self,
        app: Celery,
        schedule: Any = None,
        max_interval: float | None = None,
        Producer: Any = None,  # noqa: N803 - the name is Celery's
        lazy: bool = False,
        sync_every_tasks: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Take Celery's parameters; `lazy` leaves the schedule empty."""
        del kwargs
        self.app = app
        self.data = {} if schedule is None else _evaluated(schedule)
        self.max_interval = max_interval or app.conf.beat_max_loop_interval or self.max_interval
        self.Producer = Producer
        self._heap: list[event_t] | None = None
        self.old_schedulers: Any = None
        self.sync_every_tasks = app.conf.beat_sync_every if sync_every_tasks is None else sync_every_tasks
        if not lazy:
            self.setup_schedule()

    # -- turns

    def adjust(self, n: Any, drift: float = -0.010) -> Any:
        """Return a number of seconds, a little less."""
        return adjust(n, drift)

    def is_due(self, entry: Any) -> tuple[bool, Any]:
        """Return whether an entry is due, and in how many seconds to ask again."""
        due: tuple[bool, Any] = entry.is_due()
        return due

    def _when(self, entry: Any, next_time_to_run: Any, **kwargs: Any) -> float:
        return when(entry, next_time_to_run, **kwargs)

    def populate_heap(
        self, event_t: Any = event_t, heapify: Callable[[list[Any]], None] = heapq.heapify
    ) -> None:
        """Ask each entry when it is due; `event_t` makes what is put into the heap."""
        events = []
        for entry in self.schedule.values():
            due, seconds = asked(entry.is_due, entry.name, self.max_interval)
            events.append(event_t(self._when(entry, 0 if due else seconds) or 0, PRIORITY, entry))
        heapify(events)
        self._heap = events

    def tick(self, *_args: Any, **_kwargs: Any) -> float:
        """Send at most one task, and return in how many seconds to come again.

        With the database out of reach nothing is lost: what is due stays so.
        """
        try:
            self._recall()
        except DatabaseError as error:
            logger.warning("beat: the last runs cannot be read, trying again: %s", error)
            return RETRY_SECONDS
        if self._heap is None or not self.schedules_equal(self.old_schedulers, self.schedule):
            self.old_schedulers = copy.copy(self.schedule)
            self.populate_heap()
        heap: list[event_t] = self._heap or []
        return self._turn(heap, heap[0]) if heap else self.max_interval

    def _recall(self) -> None:
        """Learn what other beats, or earlier ones, have done; for schedulers that keep no runs themselves."""

    def _turn(self, heap: list[event_t], event: event_t) -> float:
        entry = event.entry
        wait = event.time - self._when(entry, 0)
        if wait > 0:
            return min(wait, self.max_interval)
        due, seconds = asked(lambda: self.is_due(entry), entry.name, self.max_interval)
        if heap[0] is not event:  # asking changed the order
            return float(min(heap[0].time - self._when(heap[0].entry, 0), self.max_interval))
        if due:
            return self._run(heap, event, seconds)
        delay = seconds if is_numeric_value(seconds) else self.max_interval
        heapq.heapreplace(heap, event_t(self._when(entry, delay), event.priority, entry))
        return 0 if heap[0].entry is not entry else float(min(self.adjust(delay), self.max_interval))

    def _run(self, heap: list[event_t], event: event_t, seconds: Any) -> float:
        """Send a task that is due, unless another beat did; plan the entry's next time."""
        entry = event.entry
        try:
            following = self._send_once(entry)
        except TakenError as taken:
            following = self._adopt(entry, taken.last)
            due, seconds = asked(following.is_due, entry.name, self.max_interval)
            seconds = 0 if due else seconds
        except (OutageError, DatabaseError) as error:
            logger.warning("beat: %s was not sent and stays due: %s", entry.name, error)
            return min(RETRY_SECONDS, self.max_interval)
        heapq.heapreplace(heap, event_t(self._when(following, seconds), event.priority, following))
        return 0

    # -- one tick

    def _send_once(self, entry: Any) -> Any:
        """Send a task and store the run, both or none; return the entry after it.

        A task that cannot be sent at all is logged, and counts as run.
        """
        if is_stale(entry):
            logger.warning("beat: %s is past its expires and is not sent", entry.name)
            self._count(entry)
        else:
            try:
                with self._claim(entry):
                    self.failure = None
                    self.apply_entry(entry, producer=self.producer)
                    self.raise_failure()
            except RefusedError:
                self._count(entry)
        return self.reserve(entry)

    def _count(self, entry: Any) -> None:
        with self._claim(entry):
            logger.debug("beat: a run of %s is counted without being sent", entry.name)

    @contextmanager
    def _claim(self, entry: Any) -> Iterator[None]:
        """Store a run with what is sent in the block; raises TakenError when it is another's."""
        if self.ticks is None or self.app.conf.task_always_eager:
            yield
            return
        now = maybe_make_aware(entry.default_now()).astimezone(UTC)
        run = LastRun(now, (entry.total_run_count or 0) + 1, self.ticks.zone)
        with self.ticks.tick(
            entry.name, run, lambda stored: not ran_since(entry, stored.at, self.app.timezone)
        ):
            self._claimed = True
            try:
                yield
            finally:
                self._claimed = False

    def _adopt(self, entry: Any, last: LastRun) -> Any:
        """Make another beat's run that of the entry."""
        entry.last_run_at = last.at.astimezone(self.app.timezone)
        entry.total_run_count = last.runs
        model = getattr(entry, "model", None)
        if model is not None:
            model.last_run_at, model.total_run_count = entry.last_run_at, last.runs
        return entry

    def reserve(self, entry: Any) -> Any:
        """Count a run of an entry, now; return the entry after it."""
        new_entry = self.schedule[entry.name] = next(entry)
        return new_entry

    @property
    def info(self) -> str:
        """A line about the scheduler for the banner."""
        return ""


def _evaluated(schedule: Any) -> Any:
    return schedule() if isinstance(schedule, lazy) else schedule
