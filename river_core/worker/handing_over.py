"""Hands what members bring over to the rows that wait for them, in the transaction that ends the members."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from river_core.db import jobs, linked
from river_core.db.linked import WaitingChange
from river_core.db.statement import Sql
from river_core.drivers.base import Connection
from river_core.errors import JobRowDecodeError
from river_core.job import JobRow, JobState
from river_core.links import (
    PARTS,
    Break,
    HandOver,
    LinkError,
    Part,
    Recount,
    delay_of,
    is_complete,
    members_of,
    parts_of,
    parts_text,
)
from river_core.outcome import FollowUp, StateChange

Broken = Callable[[JobRow, Break], StateChange]
"""Decides what becomes of a waiting row that cannot run."""
Item = HandOver | Recount

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class HandedOver:
    """What hand-overs led to."""

    queues: set[str] = field(default_factory=set)
    """Queues in which waiting rows became available."""
    finished: list[int] = field(default_factory=list)
    """Waiting rows that were ended."""
    follow_ups: list[FollowUp] = field(default_factory=list)
    """Rows to insert because of that, in the same transaction."""
    changed: int = 0
    """How many rows were written."""


def hand_over(connection: Connection, sql: Sql, items: Sequence[Item], broken: Broken) -> HandedOver:
    """Hand over parts and breaks inside the open transaction; rows that have ended take nothing.

    A row that somebody has set going by hand keeps the parts for when it waits again, or is broken at once:
    its task is not called without them. A broken row breaks those that wait for it, and so on.
    """
    done = HandedOver()
    while items:
        items = _one_round(connection, sql, items, broken, done)
    return done


def _one_round(
    connection: Connection, sql: Sql, items: Sequence[Item], broken: Broken, done: HandedOver
) -> list[HandOver]:
    by_target: dict[int, list[Item]] = defaultdict(list)
    for item in items:
        by_target[item.target].append(item)
    fetched = connection.fetch(linked.job_lock_feedable_many(sql, by_target))
    changes: list[WaitingChange] = []
    further: list[HandOver] = []
    waiting: set[int] = set()
    for row in (jobs.decode_job(sql, found) for found in fetched):
        found = _with_parts_or_break(row, by_target[row.id])
        if row.state is JobState.PENDING:
            waiting.add(row.id)
        if isinstance(found, WaitingChange):
            changes.append(found)
        elif found is not None:
            change = broken(row, found)
            changes.append(_ended(row, change))
            further.extend(change.hand_overs)
            done.follow_ups.extend(change.follow_ups)
    if changes:
        done.changed += len(changes)
        for job_id, state, queue in connection.fetch(linked.job_feed_many(sql, changes)):
            _note(done, job_id, JobState(state), queue if job_id in waiting else None)
    return further


def _with_parts_or_break(row: JobRow, items: Sequence[Item]) -> WaitingChange | Break | None:
    """Return the row with its parts, why it can never run, or nothing where nothing is new.

    The first end of a member counts: a part that came stays, whatever the member does when somebody sets it
    back. What a stranger wrote ends that row alone.
    """
    try:
        known, members = parts_of(row.metadata), members_of(row.metadata)
        parts = {item.index: item.text for item in items if isinstance(item, Part)} | known
        cause = next((item for item in items if isinstance(item, Break) and item.index not in parts), None)
        if cause is not None:
            return cause
        starts = row.state is JobState.PENDING and is_complete(members, parts)
        if parts == known and not starts:
            return None
        state = JobState.AVAILABLE if starts else row.state
        return WaitingChange(row.id, state, {PARTS: parts_text(parts)}, delay_of(row.metadata))
    except (JobRowDecodeError, LinkError) as error:
        logger.warning("job %d waits for what cannot be read: %s", row.id, error, extra={"job_id": row.id})
        return Break(row.id, -1, {"reason": f"its links cannot be read: {error}"})


def _ended(row: JobRow, change: StateChange) -> WaitingChange:
    error = change.error.to_json() if change.error is not None else None
    return WaitingChange(row.id, change.state, dict(change.metadata), 0.0, error)


def _note(done: HandedOver, job_id: int, state: JobState, queue: str | None) -> None:
    if state is JobState.AVAILABLE and queue is not None:
        done.queues.add(queue)
    elif state in (JobState.DISCARDED, JobState.CANCELLED):
        done.finished.append(job_id)
