"""Writes one batch of finished attempts: the statements, and the transaction where it takes several.

On Postgres a batch of mere successes is one statement, and so is one of other ends; rows that belong to an
outcome, and deletions, join both in one transaction. On SQLite everything is one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from river_core.db import job_tx, notifications, work
from river_core.db.statement import Dialect, Statement
from river_core.db.work import AttemptChange
from river_core.drivers.base import Connection, Driver, Row
from river_core.inserting import InsertNotifyLimiter, insert_many
from river_core.job import JobState
from river_core.links import Recount
from river_core.notifier import TOPIC_DONE
from river_core.outcome import FollowUp
from river_core.worker.completion import Completion, Deletion
from river_core.worker.handing_over import Broken, HandedOver, hand_over

MAX_PAYLOAD_BYTES = 7_000
MORE_PAYLOAD = '{"more":true}'
MAX_OUTCOMES_CHARACTERS = 128 * 1024 * 1024
"""More than this in one statement is refused here: Postgres would drop the connection, as in an outage."""


class OutcomeWriter:
    """Writes batches for one client."""

    def __init__(
        self,
        driver: Driver,
        client_id: str,
        limiter: InsertNotifyLimiter,
        broken: Broken,
        notify_kind: str | None = None,
        wake: Callable[[Collection[str]], None] | None = None,
    ) -> None:
        """Write for `client_id`; `broken` decides about waiting rows that cannot run.

        Ids of jobs of `notify_kind` are announced on `river_python_done`. `wake` is told of queues in which
        waiting rows became available, once they are committed.
        """
        self._driver = driver
        self._client_id = client_id
        self._limiter = limiter
        self._notify_kind = notify_kind
        self._broken = broken
        self._wake = wake

    def write(self, batch: Sequence[Completion]) -> dict[int, JobState]:
        """Write a batch; return the states that it left, by job id.

        Raises DatabaseError, and TypeError or ValueError for what cannot be written as JSON. A batch may be
        written again after that: what it did write stays as it is.
        """
        with self._driver.connect() as connection:
            if self._is_without_rows(batch):
                changes = [_attempt_change(item) for item in batch]
                return self._set_states(connection, changes, self._payload(batch, ()))
            with connection.transaction():
                owners, batch = self._running_owners(connection, batch)
                handed = self._hand_over(connection, owners)
                changes = self._insert_follow_ups(connection, batch, owners, handed.follow_ups)
                self._delete(connection, batch)
                payload = self._payload(batch, handed.finished)
                states = self._set_states(connection, changes, payload)
                self._put_in_outbox(connection, payload)
                handed.queues |= self._recount(connection, states)
        if handed.queues and self._wake is not None:
            self._wake(handed.queues)
        return states

    def _is_without_rows(self, batch: Sequence[Completion]) -> bool:
        postgres = self._driver.sql.dialect is Dialect.POSTGRES
        return postgres and all(item.change.is_plain and type(item) is not Deletion for item in batch)

    def _delete(self, connection: Connection, batch: Sequence[Completion]) -> None:
        """Delete rows that are still these attempts; what is written for them after that finds none."""
        deletions = [_attempt_change(item) for item in batch if type(item) is Deletion]
        if deletions:
            sql = self._driver.sql
            connection.fetch(job_tx.job_delete_running_many(sql, self._client_id, deletions))

    def _set_states(
        self, connection: Connection, changes: Sequence[AttemptChange], payload: str | None
    ) -> dict[int, JobState]:
        """Write successes, then the rest, and with it successes whose rows do not run any more.

        The notification goes with the last statement that is known of beforehand: waiting clients look at
        once, and must find what it is about.
        """
        successes = sorted((item for item in changes if work.is_success(item.change)), key=itemgetter(0))
        rest = [item for item in changes if not work.is_success(item.change)]
        states: dict[int, JobState] = {}
        if successes:
            with_it, payload = (None, payload) if rest else (payload, None)
            states = self._complete(connection, successes, with_it)
            rest.extend(item for item in successes if item.job_id not in states)
        if rest:
            sql = self._driver.sql
            statement = work.job_set_state_if_running_many(sql, self._client_id, rest, payload)
            found = _fetch(connection, statement)
            states.update((row[0], JobState(row[1])) for row in found if row[0] is not None)
        return states

    def _complete(
        self, connection: Connection, successes: Sequence[AttemptChange], payload: str | None
    ) -> dict[int, JobState]:
        sql = self._driver.sql
        statement = work.job_set_completed_if_running_many(sql, self._client_id, successes, payload)
        ids = (row[0] for row in _fetch(connection, statement) if row[0] is not None)
        return dict.fromkeys(ids, JobState.COMPLETED)

    def _running_owners(
        self, connection: Connection, batch: Sequence[Completion]
    ) -> tuple[list[Completion], Sequence[Completion]]:
        """Lock and return those that bring more than their own row's end and are still running attempts.

        Returned with the batch, in which rows that were cancelled meanwhile have the end meant for that.
        """
        owners = [item for item in batch if not item.change.is_plain]
        if not owners:
            return [], batch
        statement = work.job_lock_running_many(
            self._driver.sql, self._client_id, [_attempt_change(item) for item in owners]
        )
        marked = {row[0]: bool(row[1]) for row in connection.fetch(statement)}
        batch = [_as_cancelled(item) if marked.get(item.row.id) else item for item in batch]
        return [item for item in batch if item.row.id in marked], batch

    def _hand_over(self, connection: Connection, owners: Sequence[Completion]) -> HandedOver:
        sql = self._driver.sql
        items = [item for owner in owners for item in owner.change.hand_overs]
        handed = hand_over(connection, sql, items, self._broken)
        self._announce(connection, handed.queues)
        return handed

    def _recount(self, connection: Connection, states: Mapping[int, JobState]) -> set[str]:
        """Start rows that were put back to wait and have got their last part while they ran."""
        items = [Recount(job_id) for job_id, state in states.items() if state is JobState.PENDING]
        queues = hand_over(connection, self._driver.sql, items, self._broken).queues
        self._announce(connection, queues)
        return queues

    def _announce(self, connection: Connection, queues: Collection[str]) -> None:
        sql = self._driver.sql
        payloads = [notifications.insert_payload(queue) for queue in self._limiter.allowed_queues(queues)]
        if payloads:
            connection.fetch(notifications.notify_many(sql, notifications.TOPIC_INSERT, payloads))

    def _insert_follow_ups(
        self,
        connection: Connection,
        batch: Sequence[Completion],
        owners: Sequence[Completion],
        others: Sequence[FollowUp],
    ) -> list[AttemptChange]:
        """Insert the rows that belong to the outcomes of `owners`, and `others`."""
        sql = self._driver.sql
        params = [follow_up.params for item in owners for follow_up in item.change.follow_ups]
        params.extend(follow_up.params for follow_up in others)
        results = iter(insert_many(connection, sql, params, self._limiter.allowed(params)) if params else ())
        links: dict[int, dict[str, int]] = {}
        for item in owners:
            for follow_up in item.change.follow_ups:
                inserted = next(results)
                if follow_up.metadata_key is not None:
                    links.setdefault(item.row.id, {})[follow_up.metadata_key] = inserted.job.id
        return [_attempt_change(item, links.get(item.row.id)) for item in batch]

    def _put_in_outbox(self, connection: Connection, payload: str | None) -> None:
        sql = self._driver.sql
        if payload is not None and sql.dialect is Dialect.SQLITE:
            connection.fetch(notifications.notify_many(sql, TOPIC_DONE, [payload]))

    def _payload(self, batch: Sequence[Completion], others: Sequence[int]) -> str | None:
        ids = [item.row.id for item in batch if item.row.kind == self._notify_kind]
        ids.extend(others)
        return done_payload(ids) if ids else None


def done_payload(ids: Sequence[int]) -> str:
    """Return what `river_python_done` says when rows have ended; too many are not named."""
    payload = json.dumps({"ids": ids}, separators=(",", ":"))
    return payload if len(payload) <= MAX_PAYLOAD_BYTES else MORE_PAYLOAD


def _as_cancelled(item: Completion) -> Completion:
    instead = item.change.if_cancelled
    return item if instead is None else replace(item, change=instead)


def _fetch(connection: Connection, statement: Statement) -> list[Row]:
    size = sum(len(value) for value in statement.parameters.values() if isinstance(value, str))
    if size > MAX_OUTCOMES_CHARACTERS:
        raise ValueError(f"outcomes of {size} characters are too large for one statement")
    return connection.fetch(statement)


def _attempt_change(item: Completion, links: dict[str, int] | None = None) -> AttemptChange:
    change = item.change
    if links:
        change = replace(change, metadata={**change.metadata, **links})
    return AttemptChange(item.row.id, item.row.attempt, change)
