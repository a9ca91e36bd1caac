"""Writes checked rows and tells the workers of their queues, on whatever connection it is given."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from river_core.db import job_inserts, jobs, notifications
from river_core.db.job_inserts import are_alike as are_alike
from river_core.db.job_inserts import are_plain, is_plain
from river_core.db.statement import Dialect, Sql, Statement
from river_core.drivers.base import AwaitedConnection, Connection, Row
from river_core.errors import DatabaseError, ValidationError
from river_core.forking import in_forked_child
from river_core.insert import InsertParams, InsertResult
from river_core.job import JobState
from river_core.linked_insert import has_links, insert_linked
from river_core.steps import Steps, run, run_awaited

NOTIFY_COOLDOWN_SECONDS = 0.1
HURRIED_COOLDOWN_SECONDS = 0.001
HURRIED_SECONDS = 1.0
DUPLICATE = jobs.COLUMN_COUNT
"""The column behind the job's own: whether it is a duplicate, or the row's nonce where that tells."""


class InsertNotifyLimiter:
    """Lets one notification a queue pass within a cool-down (River: notifylimiter).

    A notification takes a lock of the whole Postgres cluster until its transaction is on disk, so
    one for each of many inserts would make them wait for each other. Callable from any thread.
    """

    def __init__(
        self,
        cooldown: float = NOTIFY_COOLDOWN_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        silent: bool = False,
    ) -> None:
        """Take the cool-down in seconds, and a clock that never goes back; a silent one lets none pass."""
        self.silent = silent
        self._cooldown = cooldown
        self._monotonic = monotonic
        self._notified_at: dict[str, float] = {}
        self._hurried_until: dict[str, float] = {}
        self._renew_lock()
        in_forked_child(self._renew_lock)

    def _renew_lock(self) -> None:
        self._lock = threading.Lock()

    def allowed(self, rows: Iterable[InsertParams]) -> list[str]:
        """Return the queues to be notified of these rows now, each once, and remember that they were."""
        return self.allowed_queues(available_queues(rows))

    def allowed_queues(self, queues: Collection[str]) -> list[str]:
        """Return which of `queues` are to be notified now, and remember that they were."""
        if self.silent:
            return []
        now = self._monotonic()
        with self._lock:
            passed = [queue for queue in queues if self._is_due(queue, now)]
            self._notified_at.update(dict.fromkeys(passed, now))
        return passed

    def hurry(self, queues: Iterable[str]) -> None:
        """Let nearly every notification of these queues pass for a second: their callers wait for the ends.

        What is held back they would have sent at once all the same, by one more round trip.
        """
        until = self._monotonic() + HURRIED_SECONDS
        with self._lock:
            self._hurried_until.update(dict.fromkeys(queues, until))

    def forget(self, queues: Iterable[str]) -> None:
        """Take back what `allowed` remembered, for a transaction that failed."""
        with self._lock:
            for queue in queues:
                self._notified_at.pop(queue, None)

    def _is_due(self, queue: str, now: float) -> bool:
        last = self._notified_at.get(queue)
        return last is None or now - last > self._cooldown_of(queue, now)

    def _cooldown_of(self, queue: str, now: float) -> float:
        until = self._hurried_until.get(queue)
        if until is None:
            return self._cooldown
        if now < until:
            return min(HURRIED_COOLDOWN_SECONDS, self._cooldown)
        del self._hurried_until[queue]
        return self._cooldown


def available_queues(rows: Iterable[InsertParams]) -> list[str]:
    """Return the queues in which these rows can be worked at once, each once."""
    return list(dict.fromkeys(row.queue for row in rows if row.state is JobState.AVAILABLE))


def insert_many(
    connection: Connection, sql: Sql, rows: Sequence[InsertParams], notify_queues: Collection[str]
) -> list[InsertResult]:
    """Insert rows and notify `notify_queues`; returns one result for each row, in its order.

    Runs in the connection's open transaction, or in one of its own. Raises ValidationError when two of
    the rows have one unique key, RejectedValueError when the database refuses a value; then none of the
    rows is written.
    """
    if not rows:
        return []
    if _is_one_plain(sql, rows, notify_queues):
        return [_new_result(rows[0], connection.fetch(_insert_one(sql, rows[0], notify_queues)))]
    steps = insert_steps(sql, rows, notify_queues)
    if _is_one_statement(sql, rows):
        return run(connection, steps)
    with connection.transaction():
        return run(connection, steps)


def insert_alike(
    connection: Connection, sql: Sql, rows: Sequence[InsertParams], notify_queues: Collection[str]
) -> list[int]:
    """Do as `insert_many` for rows that are alike, and return their ids, in order."""
    payloads = [notifications.insert_payload(queue) for queue in notify_queues]
    fetched = connection.fetch(job_inserts.job_insert_alike(sql, rows, payloads))
    if len(fetched) != len(rows):
        raise DatabaseError(f"{len(rows)} rows were inserted but {len(fetched)} came back")
    return [row[0] for row in fetched]


async def insert_many_awaited(
    connection: AwaitedConnection, sql: Sql, rows: Sequence[InsertParams], notify_queues: Collection[str]
) -> list[InsertResult]:
    """Do as `insert_many` on an awaited connection."""
    if not rows:
        return []
    steps = insert_steps(sql, rows, notify_queues)
    if _is_one_statement(sql, rows):
        return await run_awaited(connection, steps)
    async with connection.transaction():
        return await run_awaited(connection, steps)


def _is_one_statement(sql: Sql, rows: Sequence[InsertParams]) -> bool:
    """Tell whether an insert commits by itself."""
    return sql.dialect is Dialect.POSTGRES and not has_links(rows)


def insert_steps(
    sql: Sql, rows: Sequence[InsertParams], notify_queues: Collection[str]
) -> Steps[list[InsertResult]]:
    """Give the statements of `insert_many`, which must run in one transaction."""
    if _is_one_plain(sql, rows, notify_queues):
        return [_new_result(rows[0], (yield _insert_one(sql, rows[0], notify_queues)))]
    refuse_repeated_keys(rows)
    payloads = [notifications.insert_payload(queue) for queue in notify_queues]
    if has_links(rows):
        if is_relaxed(sql):
            yield sql.statement("session_commit_relaxed")
        results = yield from insert_linked(sql, rows)
        if payloads:
            yield notifications.notify_many(sql, notifications.TOPIC_INSERT, payloads)
        return results
    nonces = [job_inserts.fresh_nonce() for _ in rows] if sql.tells_by_nonce else []
    fetched = yield _insert_statement(sql, rows, nonces, payloads)
    if payloads and sql.dialect is Dialect.SQLITE:
        yield notifications.notify_many(sql, notifications.TOPIC_INSERT, payloads)
    if nonces:
        return _results_by_nonce(sql, rows, nonces, fetched)
    if len(fetched) != len(rows):
        raise DatabaseError(f"{len(rows)} rows were inserted but {len(fetched)} came back")
    if are_plain(sql, rows):
        return [
            InsertResult(job_inserts.decode_new_job(params, row))
            for params, row in zip(rows, fetched, strict=True)
        ]
    return [InsertResult(jobs.decode_job(sql, row), row[DUPLICATE]) for row in fetched]


def is_relaxed(sql: Sql) -> bool:
    """Tell whether commits do not wait for the disk, which only Postgres is told with them."""
    return sql.dialect is Dialect.POSTGRES and not sql.durable


def _is_one_plain(sql: Sql, rows: Sequence[InsertParams], notify_queues: Collection[str]) -> bool:
    """Tell whether this is the most frequent insert: one row that hangs together with no other."""
    return len(rows) == 1 and len(notify_queues) <= 1 and rows[0].links is None and is_plain(sql, rows[0])


def _insert_one(sql: Sql, row: InsertParams, notify_queues: Collection[str]) -> Statement:
    payload = next((notifications.insert_payload(queue) for queue in notify_queues), None)
    return job_inserts.job_insert(sql, row, None, payload)


def _new_result(row: InsertParams, fetched: Sequence[Row]) -> InsertResult:
    return InsertResult(job_inserts.decode_new_job(row, fetched[0]))


def refuse_repeated_keys(rows: Sequence[InsertParams]) -> None:
    """Raise ValidationError where two rows of a batch have one unique key."""
    positions: dict[bytes, int] = {}
    for position, row in enumerate(rows):
        if row.unique_key is None:
            continue
        first = positions.setdefault(row.unique_key, position)
        if first != position:
            raise ValidationError(
                f"jobs {first} and {position} of the batch, counted from 0, have the same unique key; "
                "insert one of them"
            )


def _insert_statement(
    sql: Sql, rows: Sequence[InsertParams], nonces: Sequence[str], payloads: Sequence[str]
) -> Statement:
    if len(rows) == 1 and len(payloads) <= 1:
        nonce, notification = next(iter(nonces), None), next(iter(payloads), None)
        return job_inserts.job_insert(sql, rows[0], nonce, notification)
    return job_inserts.job_insert_many(sql, rows, nonces, payloads)


def _results_by_nonce(
    sql: Sql, rows: Sequence[InsertParams], nonces: Sequence[str], fetched: Sequence[Row]
) -> list[InsertResult]:
    """Find each result by its nonce or unique key: SQLite promises no order for what RETURNING gives."""
    inserted = {row[DUPLICATE]: row for row in fetched}
    held = _by_unique_key(fetched)
    results = []
    for params, nonce in zip(rows, nonces, strict=True):
        row = inserted.get(nonce)
        found = row if row is not None else held[params.unique_key]
        results.append(InsertResult(jobs.decode_job(sql, found), row is None))
    return results


def _by_unique_key(fetched: Sequence[Row]) -> dict[Any, Row]:
    key = jobs.COLUMN_COUNT - 2
    return {row[key]: row for row in fetched if row[key] is not None}
