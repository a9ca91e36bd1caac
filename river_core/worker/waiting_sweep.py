"""Settles waiting rows whose members ended without handing anything over.

Members end so when somebody else ends them: a row cancelled or deleted by hand, by River's user interface
or by a client in Go, one discarded by a foreign rescuer. Every started client looks, whoever leads.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from river_core.db import jobs, linked, notifications
from river_core.drivers.base import Driver
from river_core.errors import JobRowDecodeError
from river_core.inserting import InsertNotifyLimiter, insert_many
from river_core.job import JobRow
from river_core.links import Break, HandOver, LinkError, Recount, members_of, parts_of
from river_core.notifier import TOPIC_DONE
from river_core.service import Service
from river_core.task import Registry, Task
from river_core.worker.handing_over import Broken, Item, hand_over
from river_core.worker.outcome_writer import done_payload

INTERVAL_SECONDS = 30.0
JITTER_SECONDS = 5.0
PAGE_ROWS = 500
MAX_LINKS = 1_000
"""How many successors of one member are followed; more are looked at in the next pass."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SweepTiming:
    """How often waiting rows are looked at, and how old they must be, in seconds."""

    interval: float = INTERVAL_SECONDS
    age: float = INTERVAL_SECONDS


class WaitingSweep(Service):
    """Looks at all waiting rows of the kinds whose tasks have such rows."""

    def __init__(
        self,
        driver: Driver,
        registry: Registry,
        limiter: InsertNotifyLimiter,
        broken: Broken,
        wake: Callable[[Collection[str]], None],
        timing: SweepTiming = SweepTiming(),
    ) -> None:
        """Take what a completer takes to hand over; `wake` is told of queues with rows to work."""
        super().__init__("river-waiting-sweep")
        self._driver = driver
        self._tasks = [task for task in registry if task.has_waiting_jobs]
        self._limiter = limiter
        self._broken = broken
        self._wake = wake
        self._timing = timing
        self._first = True

    def run_once(self) -> float | None:
        """Look at every waiting row once."""
        if not self._tasks:
            return None
        if not self._first:
            for task in self._tasks:
                self._sweep(task)
        self._first = False
        return self._timing.interval + random.uniform(0, min(JITTER_SECONDS, self._timing.interval))  # noqa: S311

    def _sweep(self, task: Task) -> None:
        after = 0
        while not self.stopping:
            page = self._page(task.kind, after)
            self._settle(task, page)
            if len(page) < PAGE_ROWS:
                return
            after = page[-1].id

    def _page(self, kind: str, after: int) -> list[JobRow]:
        sql = self._driver.sql
        with self._driver.connect() as connection:
            rows = connection.fetch(linked.job_list_waiting(sql, kind, after, self._timing.age, PAGE_ROWS))
        return [jobs.decode_job(sql, row) for row in rows]

    def _settle(self, task: Task, page: Sequence[JobRow]) -> None:
        items: list[Item] = []
        missing: dict[int, dict[int, int]] = {}
        for row in page:
            try:
                missing[row.id] = _missing(row)
            except (JobRowDecodeError, LinkError) as error:
                items.append(Break(row.id, -1, {"reason": f"its links cannot be read: {error}"}))
        ended = self._ended({job_id for members in missing.values() for job_id in members.values()})
        for row in page:
            items.extend(self._late_of(task, row, missing.get(row.id, {}), ended))
        items.extend(Recount(job_id) for job_id, members in missing.items() if not members)
        if items:
            self._write(items)

    def _late_of(
        self, task: Task, row: JobRow, missing: Mapping[int, int], ended: Mapping[int, JobRow | None]
    ) -> list[HandOver]:
        """Return what ended members of one waiting row mean for it; a row that cannot be judged is left."""
        try:
            late = [
                self._late(task, row, at, job_id, ended) for at, job_id in missing.items() if job_id in ended
            ]
        except Exception:
            logger.exception("what job %d waits for cannot be judged", row.id, extra={"job_id": row.id})
            return []
        return [item for item in late if item is not None]

    def _ended(self, ids: Collection[int]) -> dict[int, JobRow | None]:
        """Return the final rows among `ids`; None for those that are gone."""
        if not ids:
            return {}
        sql = self._driver.sql
        with self._driver.connect() as connection:
            ended = [row[0] for row in connection.fetch(linked.job_list_ended_many(sql, ids))]
            rows = connection.fetch(jobs.job_get_by_id_many(sql, ended)) if ended else []
        found = {row.id: row for row in (jobs.decode_job(sql, row) for row in rows)}
        return {job_id: found.get(job_id) for job_id in ended}

    def _late(
        self, task: Task, waiting: JobRow, index: int, job_id: int, ended: Mapping[int, JobRow | None]
    ) -> HandOver | None:
        """Ask the task what the end of a member means, and follow it to rows that have taken its place."""
        row = ended[job_id]
        for _ in range(MAX_LINKS):
            answer = task.late_hand_over(row, waiting, index)
            if not isinstance(answer, int):
                return answer
            successors = self._ended([answer])
            if answer not in successors:
                return None
            row = successors[answer]
        return None

    def _write(self, items: Sequence[Item]) -> None:
        sql = self._driver.sql
        with self._driver.connect() as connection, connection.transaction():
            handed = hand_over(connection, sql, items, self._broken)
            params = [follow_up.params for follow_up in handed.follow_ups]
            if params:
                insert_many(connection, sql, params, self._limiter.allowed(params))
            payloads = [notifications.insert_payload(queue) for queue in handed.queues]
            if payloads:
                connection.fetch(notifications.notify_many(sql, notifications.TOPIC_INSERT, payloads))
            if handed.finished:
                connection.fetch(notifications.notify_many(sql, TOPIC_DONE, [done_payload(handed.finished)]))
        if handed.changed:
            logger.info("%d waiting jobs heard by the sweep how members of theirs ended", handed.changed)
        self._wake(handed.queues)


def _missing(row: JobRow) -> dict[int, int]:
    """Return the members of a waiting row whose part has not come: id by index."""
    parts = parts_of(row.metadata)
    return {index: job_id for index, job_id in enumerate(members_of(row.metadata)) if index not in parts}
