"""Statements of the maintenance services: promote, rescue and delete rows, many at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from river_core.db.statement import Dialect, Sql, Statement
from river_core.db.times import decode_time
from river_core.job import AttemptError, JobRow, JobState


@dataclass(frozen=True, slots=True)
class Rescue:
    """What becomes of one stuck row; exactly one of the two times is set."""

    row: JobRow
    client_id: str | None
    state: JobState
    error: AttemptError
    scheduled_at: datetime | None = None
    finalized_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What one pass of `job_schedule` did: rows by fate, and the queues in which a job can start now."""

    available: int
    discarded: int
    put_off: int
    queues: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many rows the pass took."""
        return self.available + self.discarded + self.put_off


def limit_time(sql: Sql, seconds: float) -> Statement:
    """Let the server end later statements of this transaction after `seconds`; nothing on SQLite."""
    return sql.statement("limit_time", milliseconds=max(int(seconds * 1000), 1))


def database_time(sql: Sql) -> Statement:
    """Read the time of the database, on Postgres that at which the transaction began."""
    return sql.statement("database_time")


def decode_database_time(sql: Sql, row: Sequence[Any]) -> datetime:
    """Return what `database_time` read, aware, in UTC."""
    return decode_time(row[0]) if sql.dialect is Dialect.SQLITE else row[0]


def job_schedule(sql: Sql, horizon: datetime, limit: int, now: datetime | None = None) -> Statement:
    """Promote rows that fall due before `horizon` (River: JobSchedule); read by `decode_scheduled`."""
    return sql.statement("job_schedule", horizon=sql.time(horizon), limit=limit, now=sql.time(now))


def decode_scheduled(rows: Iterable[Sequence[Any]]) -> Scheduled:
    """Sum up the rows of `job_schedule`: queue, available, discarded, put off, startable."""
    found = list(rows)
    available, discarded, put_off = (sum(row[column] for row in found) for column in (1, 2, 3))
    queues = dict.fromkeys(row[0] for row in found if row[4])
    return Scheduled(available, discarded, put_off, tuple(queues))


def job_get_stuck(sql: Sql, horizon: datetime, after: int, limit: int) -> Statement:
    """Read running rows claimed before `horizon` with ids above `after` (River: JobGetStuck)."""
    return sql.statement("job_get_stuck", horizon=sql.time(horizon), after=after, limit=limit)


def job_rescue_many(sql: Sql, rescues: Iterable[Rescue], horizon: datetime) -> Statement:
    """Write `rescues`; returns id, queue and state of rows that still were stuck (River: JobRescueMany)."""
    documents = [_document(sql, rescue) for rescue in rescues]
    return sql.statement(
        "job_rescue_many", rescues=json.dumps(documents, separators=(",", ":")), horizon=sql.time(horizon)
    )


def _document(sql: Sql, rescue: Rescue) -> dict[str, Any]:
    return {
        "id": rescue.row.id,
        "attempt": rescue.row.attempt,
        "client_id": rescue.client_id,
        "state": rescue.state.value,
        "finalized_at": sql.time(rescue.finalized_at),
        "scheduled_at": sql.time(rescue.scheduled_at),
        "error": rescue.error.to_json(),
    }


@dataclass(frozen=True, slots=True)
class SnapshotHolder:
    """What keeps dead rows in the tables, for how many seconds if that is known, and how to end it."""

    name: str
    seconds: float | None
    details: str
    way_out: str


def snapshot_get_oldest(sql: Sql, seconds: float, transactions: int) -> Statement:
    """Find what has kept dead rows for more than `seconds`, or `transactions` where no time is known."""
    return sql.statement("snapshot_get_oldest", seconds=seconds, transactions=transactions)


def decode_holder(row: Sequence[Any]) -> SnapshotHolder:
    """Return one row of `snapshot_get_oldest`."""
    return SnapshotHolder(*row)


def job_delete_before(
    sql: Sql,
    cancelled: datetime | None,
    completed: datetime | None,
    discarded: datetime | None,
    limit: int,
) -> Statement:
    """Delete rows finished before the time of their state; None keeps a state (River: JobDeleteBefore)."""
    return sql.statement(
        "job_delete_before",
        cancelled_before=sql.time(cancelled),
        completed_before=sql.time(completed),
        discarded_before=sql.time(discarded),
        limit=limit,
    )


def queue_delete_expired(sql: Sql, horizon: datetime, limit: int) -> Statement:
    """Delete queues that no client has reported since `horizon` (River: QueueDeleteExpired)."""
    return sql.statement("queue_delete_expired", horizon=sql.time(horizon), limit=limit)


def notification_delete_before(sql: Sql, horizon: datetime, limit: int) -> Statement:
    """Delete outbox rows made before `horizon` (River: NotificationDeleteBefore)."""
    return sql.statement("notification_delete_before", horizon=sql.time(horizon), limit=limit)
