"""Writes the ends of attempts in batches (River: BatchCompleter).

There is no timer: whatever finished while the last statement ran is written by the next one, so an
idle job does not wait and batches grow with the load. The completer knows batches, retries and
back-pressure; why an attempt ended the way it did is the executor's.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential, wait_random

from river_core.db import job_tx, notifications, work
from river_core.db.statement import Dialect
from river_core.db.work import AttemptChange
from river_core.drivers.base import Connection, Driver
from river_core.errors import DatabaseError, MissingSchemaError, OperationalError
from river_core.inserting import InsertNotifyLimiter, insert_many
from river_core.job import JobRow, JobState
from river_core.notifier import TOPIC_DONE
from river_core.outcome import StateChange
from river_core.service import Service
from river_core.worker.events import EventKind

MAX_BATCH_ROWS = 5_000
HOLD_ABOVE = 10_000
RESUME_BELOW = 5_000
MAX_PAYLOAD_BYTES = 7_000
MORE_PAYLOAD = '{"more":true}'
STATEMENT_TRIES = 3
DRAIN_SECONDS = 20.0
DRAIN_PAUSE_SECONDS = 0.2
RETRY_REFUSED_SECONDS = 10.0
MAX_OUTCOMES_CHARACTERS = 128 * 1024 * 1024
"""More than this in one statement is refused here: Postgres would drop the connection, as in an outage."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Completion:
    """One finished attempt on its way to the database."""

    row: JobRow
    change: StateChange
    decided: EventKind
    ran: tuple[datetime, datetime] | None = None
    """When the attempt began and ended."""


class Deletion(Completion):
    """A success whose row is deleted instead of completed."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CompletedInTx(Completion):
    """The end of an attempt whose row the task has completed itself; `snapshot` is what it wrote."""

    snapshot: JobRow | None = None


Reject = Callable[[JobRow, BaseException], StateChange]
Written = Callable[[Sequence[Completion], dict[int, JobState]], None]


class Completer(Service):
    """Collects completions from all slots and writes them on a connection of its own."""

    def __init__(
        self,
        driver: Driver,
        client_id: str,
        limiter: InsertNotifyLimiter,
        reject: Reject,
        written: Written,
        notify_kind: str | None = None,
    ) -> None:
        """Write for `client_id`.

        `reject` decides again for an outcome that the database refused; `written` is told of each
        batch and the states that it left; ids of jobs of `notify_kind` are announced on
        `river_python_done`.
        """
        super().__init__("river-completer")
        self._driver = driver
        self._client_id = client_id
        self._limiter = limiter
        self._reject = reject
        self._written = written
        self._notify_kind = notify_kind
        self._waiting: deque[Completion] = deque()
        self._refused: list[Completion] = []
        self._retry_refused_at = 0.0
        self._writing: list[Completion] = []
        self._lost = 0
        self._idle = False
        self._room = threading.Event()
        self._room.set()

    def put(self, completion: Completion) -> None:
        """Take a completion; holds the caller back while more than 10,000 wait."""
        self._waiting.append(completion)
        if self._idle:
            self._idle = False
            self.wake()
        if len(self._waiting) > HOLD_ABOVE:
            self._room.clear()
            self._room.wait()

    @property
    def backlog(self) -> int:
        """How many completions wait to be written."""
        return len(self._waiting)

    def ids(self) -> list[int]:
        """Return the ids of jobs whose outcome waits to be written."""
        return [item.row.id for item in (*list(self._waiting), *self._writing, *self._refused)]

    @property
    def lost(self) -> int:
        """How many outcomes were given up when the completer stopped."""
        return self._lost

    def write_now(self, completion: Completion) -> bool:
        """Write one completion in the calling thread; return whether it could be.

        Raises OperationalError when the database does not answer.
        """
        return not self._write([completion])

    def run(self) -> None:
        """Write until stopped; then write what is left, for as long as its patience lasts."""
        while not self.stopping:
            if not self._waiting:
                self._idle = True
                if not self._waiting:
                    self.wait(RETRY_REFUSED_SECONDS if self._refused else None)
                self._idle = False
                self._take_refused_again()
                continue
            self._turn_or_put_back()
        self._drain()
        self._room.set()

    def _drain(self) -> None:
        """At the stop an outage may end yet: outcomes that are given up here run a second time."""
        until = time.monotonic() + DRAIN_SECONDS
        while self._waiting and time.monotonic() < until:
            before = len(self._waiting)
            self._turn_or_put_back()
            if len(self._waiting) >= before:
                time.sleep(DRAIN_PAUSE_SECONDS)
        self._lost = len(self._waiting) + len(self._refused)
        if self._lost:
            logger.error("%d outcomes could not be written before the worker stopped", self._lost)

    def _turn_or_put_back(self) -> None:
        batch = self._writing = self._take()
        try:
            self._refused.extend(self._write(batch))
        except Exception as error:
            unexpected = None if isinstance(error, DatabaseError) else error
            delay = self.grown_delay()
            text = "%d outcomes could not be written; next try in %.1f s: %s"
            logger.error(text, len(batch), delay, error, exc_info=unexpected)
            self._waiting.extendleft(reversed(batch))
            self.wait(delay)
        else:
            self.succeeded()
        self._writing = []

    def _take_refused_again(self) -> None:
        """Now and then try outcomes again that the database refused in every form; the cause may have gone.

        Not at every turn: they would halve each batch that they are part of, and fill the log.
        """
        now = time.monotonic()
        if self._refused and now >= self._retry_refused_at:
            self._retry_refused_at = now + RETRY_REFUSED_SECONDS
            refused, self._refused = self._refused, []
            self._waiting.extend(refused)

    def _take(self) -> list[Completion]:
        taken = (self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_BATCH_ROWS)))
        batch = list({item.row.id: item for item in taken}.values())
        if not self._room.is_set() and len(self._waiting) < RESUME_BELOW:
            self._room.set()
        return batch

    def _write(self, batch: list[Completion]) -> list[Completion]:
        """Write a batch; halve it where the database refuses it, until the culprit is alone.

        Returns what cannot be written in any form for now; raises OperationalError in an outage.
        """
        try:
            states = self._with_retries(batch)
        except (OperationalError, MissingSchemaError):
            raise
        except (DatabaseError, TypeError, ValueError, RecursionError) as error:
            if len(batch) > 1:
                middle = len(batch) // 2
                return self._write(batch[:middle]) + self._write(batch[middle:])
            return self._write_rejected(batch[0], error)
        self._tell(batch, states)
        return []

    def _write_rejected(self, completion: Completion, error: BaseException) -> list[Completion]:
        logger.error("the outcome of job %d was refused: %s", completion.row.id, error)
        change = self._reject(completion.row, error)
        instead = [Completion(completion.row, change, EventKind.JOB_FAILED, completion.ran)]
        try:
            states = self._with_retries(instead)
        except (OperationalError, MissingSchemaError):
            raise
        except DatabaseError as again:
            logger.error("nor can the failure of job %d be written: %s", completion.row.id, again)
            return [completion]
        self._tell(instead, states)
        return []

    def _tell(self, batch: Sequence[Completion], states: dict[int, JobState]) -> None:
        try:
            self._written(batch, states)
        except Exception:
            logger.exception("telling of written outcomes failed")

    def _with_retries(self, batch: Sequence[Completion]) -> dict[int, JobState]:
        retrying = Retrying(
            stop=stop_after_attempt(STATEMENT_TRIES),
            wait=wait_exponential(multiplier=0.2) + wait_random(0, 0.1),
            retry=retry_if_exception_type(OperationalError),
            sleep=self._rest,
            reraise=True,
        )
        return retrying(self._write_once, batch)

    def _rest(self, seconds: int | float) -> None:
        self.pause(seconds)

    def _write_once(self, batch: Sequence[Completion]) -> dict[int, JobState]:
        payload = self._payload(batch)
        with self._driver.connect() as connection:
            if self._is_one_statement(batch):
                return self._set_states(connection, [_attempt_change(item) for item in batch], payload)
            with connection.transaction():
                changes = self._insert_follow_ups(connection, batch)
                self._delete(connection, batch)
                states = self._set_states(connection, changes, payload)
                self._put_in_outbox(connection, payload)
            return states

    def _is_one_statement(self, batch: Sequence[Completion]) -> bool:
        postgres = self._driver.sql.dialect is Dialect.POSTGRES
        return postgres and not any(item.change.follow_ups or type(item) is Deletion for item in batch)

    def _delete(self, connection: Connection, batch: Sequence[Completion]) -> None:
        """Delete rows that are still these attempts; what is written for them after that finds none."""
        deletions = [_attempt_change(item) for item in batch if type(item) is Deletion]
        if deletions:
            sql = self._driver.sql
            connection.fetch(job_tx.job_delete_running_many(sql, self._client_id, deletions))

    def _set_states(
        self, connection: Connection, changes: Sequence[AttemptChange], payload: str | None
    ) -> dict[int, JobState]:
        sql = self._driver.sql
        statement = work.job_set_state_if_running_many(sql, self._client_id, changes, payload)
        size = len(str(statement.parameters["outcomes"]))
        if size > MAX_OUTCOMES_CHARACTERS:
            raise ValueError(f"outcomes of {size} characters are too large for one statement")
        return {row[0]: JobState(row[1]) for row in connection.fetch(statement) if row[0] is not None}

    def _insert_follow_ups(self, connection: Connection, batch: Sequence[Completion]) -> list[AttemptChange]:
        """Insert the rows that belong to outcomes, for those attempts that are still running ones."""
        owners = [item for item in batch if item.change.follow_ups]
        if not owners:
            return [_attempt_change(item) for item in batch]
        sql = self._driver.sql
        statement = work.job_lock_running_many(
            sql, self._client_id, [_attempt_change(item) for item in owners]
        )
        running = {row[0] for row in connection.fetch(statement)}
        owners = [item for item in owners if item.row.id in running]
        params = [follow_up.params for item in owners for follow_up in item.change.follow_ups]
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

    def _payload(self, batch: Sequence[Completion]) -> str | None:
        ids = [item.row.id for item in batch if item.row.kind == self._notify_kind]
        if not ids:
            return None
        payload = json.dumps({"ids": ids}, separators=(",", ":"))
        return payload if len(payload) <= MAX_PAYLOAD_BYTES else MORE_PAYLOAD


def _attempt_change(item: Completion, links: dict[str, int] | None = None) -> AttemptChange:
    change = item.change
    if links:
        change = replace(change, metadata={**change.metadata, **links})
    return AttemptChange(item.row.id, item.row.attempt, change)
