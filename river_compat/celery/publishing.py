"""Inserts the rows of a call, trying again while the database cannot be reached.

Only where no transaction of the caller is involved: after an error such a transaction is void, and
the caller must hear of it. The whole takes at most about five seconds, so that a web request does
not hang on a dead database.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kombu.exceptions import OperationalError

from river_compat.runtime import Runtime
from river_core import errors, task_rows
from river_core.client import Client, Enqueue
from river_core.insert import InsertParams

PATIENCE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class PublishPolicy:
    """How often an insert is tried again, and the pauses in seconds between the tries."""

    max_retries: int | None
    start: float
    step: float
    maximum: float

    @classmethod
    def of(
        cls, conf: Mapping[str, Any], retry: bool | None, policy: Mapping[str, Any] | None
    ) -> PublishPolicy:
        """Read Celery's `retry` and `retry_policy`, from the call or from the settings."""
        wanted = conf["task_publish_retry"] if retry is None else retry
        if not wanted:
            return cls(0, 0, 0, 0)
        values = {**conf["task_publish_retry_policy"], **(policy or {})}
        return cls(
            max_retries=values.get("max_retries", 3),
            start=values.get("interval_start", 0),
            step=values.get("interval_step", 0.2),
            maximum=values.get("interval_max", 1),
        )

    def pauses(self) -> Iterator[float]:
        """Give the seconds before each further try; endless for `max_retries` None."""
        tries, seconds = 0, self.start
        while self.max_retries is None or tries < self.max_retries:
            yield min(seconds, self.maximum)
            tries, seconds = tries + 1, seconds + self.step


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that are all there."""

    items: Sequence[InsertParams]

    @property
    def is_one(self) -> bool:
        """Whether there is but one."""
        return len(self.items) == 1

    def insert(self, client: Client, enqueue: Enqueue) -> list[int]:
        """Insert them and return their ids."""
        return client.insert_for_ids(self.items, enqueue=enqueue)


class MadeWhileWritten:
    """Rows of which the first are written while the others are made; at a further try all are there."""

    is_one = False

    def __init__(
        self, chunks: Iterator[Sequence[InsertParams]], made: Callable[[], Sequence[InsertParams]]
    ) -> None:
        """Take the rows as they come, and what gives all that were made so far."""
        self._chunks = chunks
        self._made = made
        self._is_first = True

    def insert(self, client: Client, enqueue: Enqueue) -> list[int]:
        """Insert them in a transaction of our own and return their ids."""
        if self._is_first:
            self._is_first = False
            found = client.insert_while_made(self._chunks)
            if found is not None:
                return found
        for _ in self._chunks:
            pass
        return client.insert_for_ids(self._made(), enqueue=enqueue)


def publish(
    runtime: Runtime,
    rows: Rows | MadeWhileWritten,
    policy: Callable[[], PublishPolicy],
    enqueue: Enqueue,
    fresh_id: str | None,
    borrowed: bool,
) -> list[int]:
    """Insert rows, all or none, and return their ids, 0 for one that is written later.

    `policy` is asked after the first failure; where a transaction is `borrowed` there is no other try.
    `fresh_id` is the first one's task id where no other row can have it. Nothing is returned for several rows
    that an earlier try inserted although its answer was lost.

    Raises kombu's OperationalError when the database cannot be reached.
    """
    began = tried_at = time.monotonic()
    pauses: Iterator[float] | None = None
    while True:
        try:
            return _try(runtime, rows, enqueue, None if pauses is None else fresh_id)
        except errors.OperationalError as error:
            if pauses is None:
                pauses = iter(()) if borrowed else policy().pauses()
            pause = next(pauses, None)
            now = time.monotonic()
            deadline = began + PATIENCE_SECONDS
            if pause is None or now + pause + (now - tried_at) >= deadline:  # the next try may take as long
                raise OperationalError(f"the task was not sent: {error}") from error
            time.sleep(pause)
            tried_at = time.monotonic()


def _try(
    runtime: Runtime, rows: Rows | MadeWhileWritten, enqueue: Enqueue, fresh_id: str | None
) -> list[int]:
    """Insert the rows, unless an earlier try did although its answer was lost."""
    if fresh_id is not None:
        found = task_rows.find_by_task_id(runtime.driver, fresh_id, 1)
        if found:
            return [found[0].id] if rows.is_one else []
    return rows.insert(runtime.client, enqueue)
