"""Inserts the rows of a call, trying again while the database cannot be reached.

Only where no transaction of the caller is involved: after an error such a transaction is void, and
the caller must hear of it. The whole takes at most about five seconds, so that a web request does
not hang on a dead database.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kombu.exceptions import OperationalError

from river_compat.runtime import Runtime
from river_core import errors, task_rows
from river_core.client import Enqueue
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


def publish(
    runtime: Runtime,
    rows: Sequence[InsertParams],
    policy: PublishPolicy,
    enqueue: Enqueue,
    fresh_id: str | None,
) -> list[int]:
    """Insert rows, all or none, and return their ids, 0 for one that is written later.

    `fresh_id` is the first one's task id where no other row can have it. Nothing is returned for several rows
    that an earlier try inserted although its answer was lost.

    Raises kombu's OperationalError when the database cannot be reached.
    """
    borrowed = enqueue != "own" and runtime.driver.open_transaction() is not None
    pauses = iter(()) if borrowed else policy.pauses()
    deadline = time.monotonic() + PATIENCE_SECONDS
    first_error: errors.OperationalError | None = None
    while True:
        tried_at = time.monotonic()
        try:
            return _try(runtime, rows, enqueue, fresh_id if first_error else None)
        except errors.OperationalError as error:
            first_error = first_error or error
            pause = next(pauses, None)
            now = time.monotonic()
            if pause is None or now + pause + (now - tried_at) >= deadline:  # the next try may take as long
                raise OperationalError(f"the task was not sent: {error}") from error
            time.sleep(pause)


def _try(runtime: Runtime, rows: Sequence[InsertParams], enqueue: Enqueue, fresh_id: str | None) -> list[int]:
    """Insert the rows, unless an earlier try did although its answer was lost."""
    if fresh_id is not None:
        found = task_rows.find_by_task_id(runtime.driver, fresh_id, 1)
        if found:
            return [found[0].id] if len(rows) == 1 else []
    return runtime.client.insert_for_ids(rows, enqueue=enqueue)
