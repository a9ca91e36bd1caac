"""What a running client observed, as `stats` tells it."""

from __future__ import annotations

import threading
from typing import Any

from river_core.plugins import Plugin
from river_core.task import Job
from river_core.worker.events import EventBus, EventKind

KINDS = (
    EventKind.JOB_CANCELLED,
    EventKind.JOB_COMPLETED,
    EventKind.JOB_FAILED,
    EventKind.JOB_SNOOZED,
    EventKind.QUEUE_PAUSED,
    EventKind.QUEUE_RESUMED,
)
BUFFER = 1_000_000


class Observed(Plugin):
    """Counts, from any thread. As a plugin it sees the starts of jobs and of the periodic enqueuer."""

    def __init__(self) -> None:
        """Start at nothing."""
        self._lock = threading.Lock()
        self._counts = {"cancelled_at_start": 0, "error_handler_calls": 0, "periodic_starts": 0}
        self._events: list[str] = []

    def follow(self, bus: EventBus) -> None:
        """Note the events of a worker, in order, until it closes its bus."""
        subscription = bus.subscribe(*KINDS, size=BUFFER)

        def read() -> None:
            for event in subscription:
                with self._lock:
                    self._events.append(event.kind.value)

        threading.Thread(target=read, name="conformance-events", daemon=True).start()

    def work_begin(self, job: Job) -> None:
        """Count jobs that were cancelled before they began."""
        if job.stopped and job.args.get("behavior") == "cooperative_cancel":
            self._count("cancelled_at_start")

    def periodic_jobs_start(self) -> None:
        """Count the starts of the periodic enqueuer."""
        self._count("periodic_starts")

    def cancel_failed(self, _job: Job, _error: BaseException) -> str:
        """Answer as an error handler that cancels every job whose attempt failed."""
        self._count("error_handler_calls")
        return "cancel"

    def snapshot(self) -> dict[str, Any]:
        """Return the result of `stats`."""
        with self._lock:
            return {**self._counts, "events": list(self._events)}

    def _count(self, name: str) -> None:
        with self._lock:
            self._counts[name] += 1
