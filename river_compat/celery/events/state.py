"""What is known of a cluster, told by its events (`celery.events.state`)."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from warnings import warn
from weakref import WeakSet, ref

from kombu.clocks import timetuple
from kombu.utils.functional import LRUCache

from river_compat.celery.events import worker as workers_seen
from river_compat.celery.events.ordered import by_time, keep_sorted
from river_compat.celery.events.task import STATE_OF_EVENT, Task
from river_compat.celery.events.worker import (
    HEARTBEAT_DRIFT_MAX,
    HEARTBEAT_EXPIRE_WINDOW,
    heartbeat_expires,
)
from river_compat.celery.refused_names import refusing

__all__ = ["HEARTBEAT_DRIFT_MAX", "HEARTBEAT_EXPIRE_WINDOW", "State", "Task", "Worker", "heartbeat_expires"]

MAX_WORKERS = 5_000
MAX_TASKS = 10_000
HEAP_MULTIPLIER = 4

T = TypeVar("T")
SeenTask = Task
Pair = tuple[str, SeenTask]
Callback = Callable[..., Any]


class Worker(workers_seen.Worker):
    """A worker; one whose clock is off is warned about."""

    def drifted(self, local_received: float, timestamp: float) -> None:
        """Warn that two clocks differ."""
        warn(
            f"Substantial drift from {self.hostname}: its clock says {timestamp}, ours {local_received}, "
            f"more than {HEARTBEAT_DRIFT_MAX} seconds apart",
            stacklevel=2,
        )


SeenWorker = Worker


TASK_EVENT_TO_STATE = STATE_OF_EVENT


class CallableDefaultdict(defaultdict[Any, Any]):
    """Tasks by a key; called with one it gives pairs of id and task, newest first."""

    def __init__(self, fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Take the function that gives the pairs, and what a defaultdict takes."""
        self.fun = fun
        super().__init__(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Give the tasks of one key."""
        return self.fun(*args, **kwargs)


class State:
    """Workers and tasks, as told by `event`. Safe for several threads.

    `callback` is called with this and each event before it is taken; `on_node_join` and `on_node_leave`
    with a worker that came or went.
    """

    Worker: type[SeenWorker] = Worker
    Task: type[SeenTask] = Task
    heap_multiplier = HEAP_MULTIPLIER

    def __init__(
        self,
        callback: Callback | None = None,
        workers: Mapping[str, SeenWorker] | None = None,
        tasks: Mapping[str, SeenTask] | None = None,
        taskheap: list[Any] | None = None,
        max_workers_in_memory: int = MAX_WORKERS,
        max_tasks_in_memory: int = MAX_TASKS,
        on_node_join: Callback | None = None,
        on_node_leave: Callback | None = None,
        tasks_by_type: Mapping[str, Iterable[SeenTask]] | None = None,
        tasks_by_worker: Mapping[str, Iterable[SeenTask]] | None = None,
    ) -> None:
        """Start with what is known already; older tasks are forgotten beyond the limits."""
        self.event_callback = callback
        self.max_workers_in_memory = max_workers_in_memory
        self.max_tasks_in_memory = max_tasks_in_memory
        self.on_node_join = on_node_join
        self.on_node_leave = on_node_leave
        self.event_count = 0
        self.task_count = 0
        self.workers: Any = _cache(max_workers_in_memory)
        self.tasks: Any = _cache(max_tasks_in_memory)
        self.tasks_by_type = _index_of(self._tasks_by_type, tasks_by_type)
        self.tasks_by_worker = _index_of(self._tasks_by_worker, tasks_by_worker)
        self._taskheap: list[Any] = taskheap or []
        self._tasks_to_resolve: Any = _cache(max_tasks_in_memory)
        self._mutex = threading.RLock()
        self._take(workers or {}, tasks or {})

    def _take(self, workers: Mapping[str, SeenWorker], tasks: Mapping[str, SeenTask]) -> None:
        for name, worker in workers.items():
            self.workers[name] = worker
        for task_id, task in tasks.items():
            task.cluster_state = self
            self.tasks[task_id] = task
            self._index(task)
        self.rebuild_taskheap()

    def _index(self, task: SeenTask) -> None:
        if task.name:
            self.tasks_by_type[task.name].add(task)
        if task.worker is not None:
            self.tasks_by_worker[task.worker.hostname].add(task)

    # -- events

    def event(self, event: Mapping[str, Any]) -> Any:
        """Take one event; return (worker or task, whether it is new) and what happened to it."""
        with self._mutex:
            self.event_count += 1
            if self.event_callback is not None:
                self.event_callback(self, event)
            fields = dict(event)
            group, _, subject = fields.pop("type").partition("-")
            if group == "worker":
                return self._worker_event(subject, fields), subject
            if group == "task":
                return self._task_event(subject, fields), subject
            return None

    def task_event(self, type_: str, fields: Mapping[str, Any]) -> Any:
        """Take an event of a task, given without its type; return the task and whether it is new."""
        return self.event({**fields, "type": f"task-{type_}"})[0]

    def worker_event(self, type_: str, fields: Mapping[str, Any]) -> Any:
        """Take an event of a worker, given without its type; return the worker and whether it is new."""
        return self.event({**fields, "type": f"worker-{type_}"})[0]

    def _worker_event(self, subject: str, fields: dict[str, Any]) -> tuple[SeenWorker, bool] | None:
        hostname = fields.get("hostname")
        if hostname is None:
            return None
        known = self.workers.get(hostname)
        worker = known if known is not None else self.Worker(hostname)
        worker.event(subject, fields.get("timestamp"), fields.get("local_received"), fields)
        if subject == "offline":
            self._tell(self.on_node_leave, worker)
            return worker, False
        self.workers[hostname] = worker
        if subject == "online":
            self._tell(self.on_node_join, worker)
        return worker, known is None

    @staticmethod
    def _tell(callback: Callback | None, worker: SeenWorker) -> None:
        if callback is not None:
            callback(worker)

    def _task_event(self, subject: str, fields: dict[str, Any]) -> tuple[SeenTask, bool]:
        task_id, hostname = fields["uuid"], fields["hostname"]
        timestamp, local_received = fields["timestamp"], fields.get("local_received")
        task, created = self.get_or_create_task(task_id)
        if subject == "sent":
            task.client = hostname
        else:
            task.worker = self._heard(hostname, timestamp, local_received)
        if subject == "received":
            self.task_count += 1
        task.event(subject, timestamp, local_received, fields)
        self._index(task)
        self._link(task)
        entry = timetuple(fields.get("clock"), timestamp, hostname, ref(task))
        keep_sorted(self._taskheap, entry, self.max_tasks_in_memory * self.heap_multiplier)
        return task, created

    def _heard(self, hostname: str, timestamp: Any, local_received: Any) -> SeenWorker:
        worker, _ = self.get_or_create_worker(hostname)
        worker.event(None, timestamp, local_received)
        return worker

    def _link(self, task: SeenTask) -> None:
        """Make it a child of its parent, now or when that is heard of, and parent of those that waited."""
        if task.parent_id:
            parent = self.tasks.get(task.parent_id)
            if parent is not None:
                parent.children.add(task)
            else:
                self._waiting_for(task.parent_id).add(task)
        task.children.update(self._tasks_to_resolve.pop(task.uuid, None) or ())

    def _waiting_for(self, task_id: str) -> WeakSet[SeenTask]:
        waiting: WeakSet[SeenTask] | None = self._tasks_to_resolve.get(task_id)
        if waiting is None:
            waiting = self._tasks_to_resolve[task_id] = WeakSet()
        return waiting

    def get_or_create_worker(self, hostname: str, **kwargs: Any) -> tuple[SeenWorker, bool]:
        """Return the worker of a host name, with these fields, and whether it is new."""
        worker = self.workers.get(hostname)
        if worker is not None:
            worker.update(kwargs)
            return worker, False
        worker = self.workers[hostname] = self.Worker(hostname, **kwargs)
        return worker, True

    def get_or_create_task(self, uuid: str) -> tuple[SeenTask, bool]:
        """Return the task of an id, and whether it is new."""
        task = self.tasks.get(uuid)
        if task is not None:
            return task, False
        task = self.tasks[uuid] = self.Task(uuid, cluster_state=self)
        return task, True

    # -- reading

    def itertasks(self, limit: int | None = None) -> Iterator[Pair]:
        """Give up to `limit` pairs of id and task."""
        return islice(list(self.tasks.items()), limit)

    def tasks_by_time(self, limit: int | None = None, reverse: bool = True) -> Iterator[Pair]:
        """Give pairs of id and task in order of their last events, newest first."""
        with self._mutex:
            return islice(iter(by_time(self._taskheap, reverse)), limit)

    tasks_by_timestamp = tasks_by_time

    def _tasks_by_type(self, name: str, limit: int | None = None, reverse: bool = True) -> Iterator[Pair]:
        return self._among(self.tasks_by_type[name], limit, reverse)

    def _tasks_by_worker(
        self, hostname: str, limit: int | None = None, reverse: bool = True
    ) -> Iterator[Pair]:
        return self._among(self.tasks_by_worker[hostname], limit, reverse)

    def _among(self, wanted: Iterable[SeenTask], limit: int | None, reverse: bool) -> Iterator[Pair]:
        wanted = set(wanted)
        return islice((pair for pair in self.tasks_by_time(reverse=reverse) if pair[1] in wanted), limit)

    def task_types(self) -> list[str]:
        """Return the names of tasks that were seen, in order."""
        return sorted(name for name, tasks in self.tasks_by_type.items() if tasks)

    def alive_workers(self) -> Iterator[SeenWorker]:
        """Give the workers that were heard lately."""
        return (worker for worker in list(self.workers.values()) if worker.alive)

    # -- housekeeping

    def rebuild_taskheap(self, timetuple: Callable[..., Any] = timetuple) -> None:
        """Order the tasks anew."""
        self._taskheap[:] = sorted(
            timetuple(task.clock, task.timestamp, task.origin, ref(task))
            for task in list(self.tasks.values())
        )

    def freeze_while(self, fun: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call `fun` while nothing changes; with `clear_after` forget what is over."""
        clear_after = kwargs.pop("clear_after", False)
        with self._mutex:
            try:
                return fun(*args, **kwargs)
            finally:
                if clear_after:
                    self.clear()

    def clear_tasks(self, ready: bool = True) -> None:
        """Forget the tasks that have ended, or all."""
        with self._mutex:
            kept = {key: task for key, task in self.itertasks() if not task.ready} if ready else {}
            self.tasks.clear()
            self.tasks.update(kept)
            self._taskheap[:] = [entry for entry in self._taskheap if _id_of(entry) in kept]

    def clear(self, ready: bool = True) -> None:
        """Forget workers, counts, and the tasks that have ended, or all."""
        with self._mutex:
            self.workers.clear()
            self.clear_tasks(ready)
            self.event_count = self.task_count = 0

    def __repr__(self) -> str:
        """Show how much is known."""
        return f"<State: events={self.event_count} tasks={self.task_count}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle workers, tasks and limits."""
        given = (self.event_callback, dict(self.workers), dict(self.tasks), None)
        limits = (self.max_workers_in_memory, self.max_tasks_in_memory)
        return type(self), (*given, *limits, self.on_node_join, self.on_node_leave)


def _index_of(
    pairs: Callable[..., Iterator[Pair]], known: Mapping[str, Iterable[SeenTask]] | None
) -> CallableDefaultdict:
    return CallableDefaultdict(pairs, WeakSet, {key: WeakSet(tasks) for key, tasks in (known or {}).items()})


def _id_of(entry: Any) -> Any:
    task = entry[3]()
    return task.uuid if task is not None else None


def _cache(size: int) -> Any:
    return LRUCache(size)  # type: ignore[no-untyped-call]


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
