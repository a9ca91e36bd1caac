"""Jobs that go on after their time-out: reported once, and replaced in their slot if the handler says so.

Code that blocks in C does not hear that its time is over (River: JobStuckHandler).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from river_core.job import JobRow

StuckHandler = Callable[[int, str, str, int], Any]
"""Takes the job's id, kind and queue and how many jobs are stuck; True asks for a slot in its place."""

logger = logging.getLogger(__name__)


class StuckJobs:
    """How many jobs of a worker are stuck, and who is told."""

    def __init__(self, threshold: float, handler: StuckHandler | None) -> None:
        """Call a job stuck that runs `threshold` seconds longer than it may."""
        self.threshold = threshold
        self._handler = handler
        self._total = 0
        self._lock = threading.Lock()

    @property
    def total(self) -> int:
        """How many jobs are stuck now."""
        return self._total

    def found(self, row: JobRow) -> bool:
        """Count and report a job that is stuck; return whether another slot is to be made for it."""
        with self._lock:
            self._total += 1
            total = self._total
        logger.warning(
            "job %d is stuck",
            row.id,
            extra={"job_id": row.id, "kind": row.kind, "queue": row.queue, "stuck": total},
        )
        if self._handler is None:
            return False
        try:
            return self._handler(row.id, row.kind, row.queue, total) is True
        except Exception:
            logger.exception("job_stuck_handler raised", extra={"job_id": row.id})
            return False

    def returned(self, row: JobRow) -> None:
        """Count a stuck job that has ended after all."""
        with self._lock:
            self._total -= 1
        logger.info("stuck job %d has ended", row.id, extra={"job_id": row.id, "kind": row.kind})
