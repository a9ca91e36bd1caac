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
    delay_of,
    members_of,
    parts_of,
    parts_text,
)
from river_core.outcome import FollowUp, StateChange

Broken = Callable[[JobRow, Break], StateChange]
"""Decides what becomes of a waiting row that cannot run."""

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


def hand_over(connection: Connection, sql: Sql, items: Sequence[HandOver], broken: Broken) -> HandedOver:
    """Hand over parts and breaks inside the open transaction; rows that wait no more take nothing.

    A broken row breaks those that wait for it, and so on.
    """
    done = HandedOver()
    while items:
        items = _one_round(connection, sql, items, broken, done)
    return done


def _one_round(
    connection: Connection, sql: Sql, items: Sequence[HandOver], broken: Broken, done: HandedOver
) -> list[HandOver]:
    by_target: dict[int, list[HandOver]] = defaultdict(list)
    for item in items:
        by_target[item.target].append(item)
    fetched = connection.fetch(linked.job_lock_waiting_many(sql, by_target))
    changes: list[WaitingChange] = []
    further: list[HandOver] = []
    for row in (jobs.decode_job(sql, found) for found in fetched):
        found = _with_parts_or_break(row, by_target[row.id])
        if isinstance(found, WaitingChange):
            changes.append(found)
            continue
        change = broken(row, found)
        changes.append(_ended(row, change))
        further.extend(change.hand_overs)
        done.follow_ups.extend(change.follow_ups)
    if changes:
        for job_id, state, queue in connection.fetch(linked.job_set_state_if_pending_many(sql, changes)):
            _note(done, job_id, JobState(state), queue)
    return further


def _with_parts_or_break(row: JobRow, items: Sequence[HandOver]) -> WaitingChange | Break:
    """Return the row with its parts, or why it can never run; what a stranger wrote ends that row alone."""
    first = next((item for item in items if isinstance(item, Break)), None)
    if first is not None:
        return first
    try:
        return _with_parts(row, items)
    except (JobRowDecodeError, LinkError) as error:
        logger.warning("job %d waits for what cannot be read: %s", row.id, error, extra={"job_id": row.id})
        return Break(row.id, -1, {"reason": f"its links cannot be read: {error}"})


def _with_parts(row: JobRow, items: Sequence[HandOver]) -> WaitingChange:
    """Add parts to a waiting row; the first that came for an index stays."""
    parts = {item.index: item.text for item in items if isinstance(item, Part)} | parts_of(row.metadata)
    is_complete = len(parts) >= len(members_of(row.metadata))
    state = JobState.AVAILABLE if is_complete else JobState.PENDING
    return WaitingChange(row.id, state, {PARTS: parts_text(parts)}, delay_of(row.metadata))


def _ended(row: JobRow, change: StateChange) -> WaitingChange:
    error = change.error.to_json() if change.error is not None else None
    return WaitingChange(row.id, change.state, dict(change.metadata), 0.0, error)


def _note(done: HandedOver, job_id: int, state: JobState, queue: str) -> None:
    if state is JobState.AVAILABLE:
        done.queues.add(queue)
    elif state in (JobState.DISCARDED, JobState.CANCELLED):
        done.finished.append(job_id)
