"""Why a task that has not ended stands where it does: the facts of its row, and of its queue.

`PENDING` alone is the same for a queue that nobody works, a paused one, and a task that no worker knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from river_compat.results import WAITING
from river_core import Client, NotFoundError, QueueRow
from river_core.job import JobRow


@dataclass(frozen=True, slots=True)
class Standing:
    """The row of a task that has not ended, and its queue's: None where no worker has worked that."""

    row: JobRow
    queue: QueueRow | None

    @property
    def waiting_for(self) -> str | None:
        """Why a worker put the row aside, None where none did."""
        reason = self.row.metadata.get(WAITING)
        return None if reason is None else str(reason)

    @property
    def last_error(self) -> str | None:
        """The error of the last attempt that failed."""
        errors = self.row.errors
        return errors[-1].error if errors else None

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON, times as ISO text."""
        row, queue = self.row, self.queue
        return {
            "row_id": row.id,
            "row_state": row.state.value,
            "queue": row.queue,
            "queue_paused_at": _iso(queue.paused_at if queue else None),
            "queue_last_worked_at": _iso(queue.updated_at if queue else None),
            "due_at": _iso(row.scheduled_at),
            "attempt": row.attempt,
            "max_attempts": row.max_attempts,
            "attempted_by": row.attempted_by[-1] if row.attempted_by else None,
            "waiting_for": self.waiting_for,
            "last_error": self.last_error,
        }

    def lines(self) -> Iterator[str]:
        """Give the facts as lines for people, those that are missing left out."""
        row = self.row
        attempts = f"attempt {row.attempt} of {row.max_attempts}"
        yield f"row {row.id}: {row.state}, {attempts}, due {_iso(row.scheduled_at)}"
        yield f"queue {row.queue}: {self._queue_text()}"
        if row.attempted_by:
            yield f"last worker: {row.attempted_by[-1]}"
        if self.waiting_for is not None:
            yield f"put aside: {self.waiting_for}"
        if self.last_error is not None:
            yield f"last error: {self.last_error}"

    def _queue_text(self) -> str:
        if self.queue is None:
            return "no worker has worked it; start one with -Q, or send to another queue"
        worked = f"last worked {_iso(self.queue.updated_at)}"
        if self.queue.paused_at is not None:
            return f"paused since {_iso(self.queue.paused_at)}, {worked}"
        return f"not paused, {worked}"


def standing_of(client: Client, row: JobRow) -> Standing:
    """Return where a row stands; raises DatabaseError."""
    try:
        return Standing(row, client.queue_get(row.queue))
    except NotFoundError:
        return Standing(row, None)


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")
