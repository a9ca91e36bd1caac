"""Cancels the rows of adapter tasks, with everything that waits for them, in one transaction.

Found by the task's id or by its stamps, whatever state they are in. Rows that wait end at once; those that
run are marked as River marks them, and told, and may be ended by a signal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from river_core.access import Access
from river_core.clock import SystemClock
from river_core.db import cancelling, jobs, linked, notifications
from river_core.db.cancelling import TERMINATE_KEY, CancelChange
from river_core.db.statement import Statement
from river_core.decide import Attempt, decide
from river_core.drivers.base import Connection, Driver
from river_core.inserting import InsertNotifyLimiter, insert_many
from river_core.job import JobRow, JobState, rfc3339
from river_core.notifier import TOPIC_DONE
from river_core.outcome import Cancelled, StateChange
from river_core.retry import DefaultRetryPolicy
from river_core.task import Registry
from river_core.worker.executor import Executor
from river_core.worker.handing_over import hand_over
from river_core.worker.outcome_writer import done_payload

__all__ = ["TERMINATE_KEY", "CancelledRows", "Canceller", "list_terminated", "purge_tasks"]

MAX_PASSES = 100
"""While a row is looked for another may take its place, so the search goes on until it finds nothing new."""
PURGE_ROWS = 5_000

Ends = Callable[[JobRow], Cancelled]
"""Says how a row ends that is cancelled: its outcome, with what it hands over to those that wait for it."""


@dataclass(slots=True)
class CancelledRows:
    """What a cancellation led to."""

    ended: list[JobRow] = field(default_factory=list)
    """Rows that waited and have ended, as they were before."""
    running: list[JobRow] = field(default_factory=list)
    """Rows that run and were marked."""


class Canceller:
    """Cancels rows of one database. Raises DatabaseError; nothing is written then."""

    def __init__(self, driver: Driver, registry: Registry, ends: Ends) -> None:
        """Take the tasks that decide what becomes of rows that wait in vain."""
        self._driver = driver
        self._clock = SystemClock()
        self._access = Access(driver, self._clock)
        self._ends = ends
        self._broken = Executor(registry, DefaultRetryPolicy(), self._clock, None).broken
        self._limiter = InsertNotifyLimiter()

    def cancel_tasks(
        self,
        task_ids: Collection[str],
        signal: str | None = None,
        also: Callable[[Connection, CancelledRows], None] | None = None,
    ) -> CancelledRows:
        """Cancel every unfinished row of these tasks, in the transaction around the call or one of its own.

        `signal` names the signal that is to end those that run. `also` is called in the same transaction.
        """
        sql = self._driver.sql
        return self._cancel(lambda: cancelling.job_lock_unfinished_of_tasks(sql, task_ids), signal, also)

    def cancel_stamped(self, stamps: Iterable[tuple[str, Any]], signal: str | None = None) -> CancelledRows:
        """Do the same for the rows that hold any of these stamps, each a name and a value."""
        sql, wanted = self._driver.sql, list(stamps)
        return self._cancel(lambda: cancelling.job_lock_unfinished_stamped(sql, wanted), signal, None)

    def _cancel(
        self,
        find: Callable[[], Statement],
        signal: str | None,
        also: Callable[[Connection, CancelledRows], None] | None,
    ) -> CancelledRows:
        done = CancelledRows()
        with self._access.connection() as connection, connection.transaction():
            connection.fetch(linked.job_take_write_lock(self._driver.sql))
            for _ in range(MAX_PASSES):
                known = {row.id for row in (*done.ended, *done.running)}
                found = [row for row in self._read(connection, find()) if row.id not in known]
                if not found:
                    break
                waiting = [row for row in found if row.state is not JobState.RUNNING]
                running = [row for row in found if row.state is JobState.RUNNING]
                self._end(connection, waiting)
                self._mark(connection, running, signal)
                done.ended.extend(waiting)
                done.running.extend(running)
            if also is not None:
                also(connection, done)
        return done

    def _read(self, connection: Connection, statement: Statement) -> list[JobRow]:
        return [jobs.decode_job(self._driver.sql, row) for row in connection.fetch(statement)]

    def _end(self, connection: Connection, rows: Sequence[JobRow]) -> None:
        if not rows:
            return
        sql = self._driver.sql
        changes = [(row, self._change(row)) for row in rows]
        mark = {"cancel_attempted_at": rfc3339(self._clock.now())}
        written = [
            CancelChange(row.id, {**mark, **change.metadata}, _error(change)) for row, change in changes
        ]
        connection.fetch(cancelling.job_set_cancelled_many(sql, written))
        items = [item for _, change in changes for item in change.hand_overs]
        handed = hand_over(connection, sql, items, self._broken)
        params = [follow_up.params for follow_up in handed.follow_ups]
        queues = self._limiter.allowed(params)
        if params:
            insert_many(connection, sql, params, queues)
        woken = [notifications.insert_payload(queue) for queue in handed.queues]
        self._notify(connection, notifications.TOPIC_INSERT, woken)
        ended = [*(row.id for row in rows), *handed.finished]
        self._notify(connection, TOPIC_DONE, [done_payload(ended)])

    def _change(self, row: JobRow) -> StateChange:
        now = self._clock.now()
        return decide(self._ends(row), Attempt(row, now, None, DefaultRetryPolicy()), now, {})

    def _mark(self, connection: Connection, rows: Sequence[JobRow], signal: str | None) -> None:
        if not rows:
            return
        sql, mark = self._driver.sql, rfc3339(self._clock.now())
        connection.fetch(cancelling.job_mark_cancelled_many(sql, [row.id for row in rows], mark, signal))
        payloads = [notifications.cancel_payload(row.id, row.queue) for row in rows]
        self._notify(connection, notifications.TOPIC_CONTROL, payloads)

    def _notify(self, connection: Connection, topic: str, payloads: Sequence[str]) -> None:
        if payloads:
            connection.fetch(notifications.notify_many(self._driver.sql, topic, payloads))


def _error(change: StateChange) -> dict[str, Any]:
    return change.error.to_json() if change.error is not None else {}


def list_terminated(driver: Driver, ids: Iterable[int]) -> list[tuple[int, int, str]]:
    """Return which of these running rows are to be ended by a signal: id, attempt and the signal's name."""
    with driver.connect() as connection:
        rows = connection.fetch(cancelling.job_list_terminated(driver.sql, ids))
    return [(row[0], row[1], str(row[2])) for row in rows]


def purge_tasks(driver: Driver, framework: str, queues: Collection[str]) -> int:
    """Delete the waiting rows of a framework's tasks in these queues, but not what waits for other rows.

    Returns how many there were. Steps that waited for deleted rows end when a worker's sweep finds them.
    """
    count = 0
    while True:
        with driver.connect() as connection:
            deleted = connection.fetch(cancelling.task_purge(driver.sql, framework, queues, PURGE_ROWS))
        count += len(deleted)
        if len(deleted) < PURGE_ROWS:
            return count
