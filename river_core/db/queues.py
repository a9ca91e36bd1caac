"""Statements on `river_queue`, and its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from river_core.db.statement import Sql, Statement
from river_core.db.times import decode_time, decode_time_or_none
from river_core.job import decode_object

ALL_QUEUES = "*"


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One row of `river_queue` (River: Queue). Times are aware and in UTC."""

    name: str
    created_at: datetime
    encoded_metadata: str
    paused_at: datetime | None
    updated_at: datetime

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata, which means nothing to River; raises JobRowDecodeError when it is no JSON object."""
        return decode_object("metadata", self.encoded_metadata)


def decode_queue(row: Sequence[Any]) -> QueueRow:
    """Return the row that one of the statements below gave."""
    name, created_at, metadata, paused_at, updated_at = row
    return QueueRow(
        name, decode_time(created_at), metadata, decode_time_or_none(paused_at), decode_time(updated_at)
    )


def queue_create_or_set_updated_at(sql: Sql, name: str, now: datetime | None = None) -> Statement:
    """Make a queue known or say that it is still worked (River: QueueCreateOrSetUpdatedAt)."""
    return sql.statement("queue_create_or_set_updated_at", name=name, now=sql.time(now))


def queue_get(sql: Sql, name: str) -> Statement:
    """Read one queue (River: QueueGet)."""
    return sql.statement("queue_get", name=name)


def queue_list(sql: Sql, limit: int) -> Statement:
    """Read up to `limit` queues by name (River: QueueList)."""
    return sql.statement("queue_list", limit=limit)


def queue_list_timed(sql: Sql, limit: int) -> Statement:
    """Do the same, each row with the time of the database behind it; read by `decode_timed_queues`."""
    return sql.statement("queue_list_timed", limit=limit)


def decode_timed_queues(rows: Iterable[Sequence[Any]]) -> tuple[list[QueueRow], datetime | None]:
    """Return the queues, and the time of the database; None where there is no queue to tell it."""
    found = list(rows)
    return [decode_queue(row[:-1]) for row in found], decode_time(found[0][-1]) if found else None


def queue_pause(sql: Sql, name: str, now: datetime | None = None) -> Statement:
    """Pause a queue, or all for `*`; returns what was found (River: QueuePause)."""
    return sql.statement("queue_pause", name=name, now=sql.time(now))


def queue_resume(sql: Sql, name: str, now: datetime | None = None) -> Statement:
    """Resume a queue, or all for `*`; returns what was found (River: QueueResume)."""
    return sql.statement("queue_resume", name=name, now=sql.time(now))


def queue_update(sql: Sql, name: str, metadata: str | None, now: datetime | None = None) -> Statement:
    """Replace a queue's metadata by JSON text, unless it is None (River: QueueUpdate)."""
    return sql.statement("queue_update", name=name, metadata=metadata, now=sql.time(now))


def queue_name_list(sql: Sql, after: str, match: str, exclude: Iterable[str], limit: int) -> Statement:
    """List the names of queues (River: QueueNameList)."""
    return sql.statement("queue_name_list", after=after, match=match, exclude=sql.array(exclude), limit=limit)
