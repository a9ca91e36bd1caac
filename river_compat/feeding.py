"""What the end of a task means for tasks that wait for it: a part with its value, or a break with its error.

Read from the outcome alone, or from a row that somebody else ended, so that both adapters share it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from river_compat import envelope
from river_compat.envelope import TaskCall
from river_compat.errors import CallNotRunnable, MalformedCall
from river_compat.results import (
    EXCEPTION,
    OUTCOME,
    OUTPUT,
    RESULT,
    RETRY_ID,
    TaskOutcome,
    lost_reason,
    result_value,
    stored_exception,
)
from river_core.job import JobRow, JobState
from river_core.links import FEEDS, Break, HandOver, Part, feeds_of, members_of, parts_of
from river_core.outcome import Cancelled, Completed, Failed, Outcome

BROKEN_BY = "id"
"""In the cause of a break: the id of the task that ended."""
CAUSE = "exception"
"""In the cause of a break: what rebuilds its exception; absent where the row tells none."""
REASON = "reason"
"""In the cause of a break: how it ended, in words."""
LOST = "lost"
"""In the cause of a break: that it was given up after a crash, without a word of its own."""

TOLD = "python_task_told"
"""Metadata key of a step that could not run, and in the cause of a break: the ids of the tasks before it
whose errbacks are called, so that those that it shares with them are not called again."""

_IGNORED = "ended without a result (Ignore)"
_CANCELLED = "was cancelled"
_GONE = "was deleted"


def fed(outcome: Outcome, call: TaskCall, row: JobRow) -> Outcome:
    """Return the outcome with what it hands over to the tasks that wait for this one.

    One that says so itself stays as it is.
    """
    if FEEDS not in row.encoded_metadata or not isinstance(outcome, Completed | Failed | Cancelled):
        return outcome
    if isinstance(outcome, Failed) and outcome.retry is not False:
        return outcome
    if outcome.hand_overs:
        return outcome
    made = _handed(outcome, call.id)
    if made is None:
        return outcome
    items = tuple(_addressed(made, target, index) for target, index in feeds_of(row.metadata))
    return replace(outcome, hand_overs=items)


def _handed(outcome: Completed | Failed | Cancelled, task_id: str) -> str | dict[str, Any] | None:
    """Return the text of a part, the cause of a break, or nothing where a successor goes on."""
    if isinstance(outcome, Completed):
        return _of_completed(outcome.metadata, task_id)
    if isinstance(outcome, Cancelled):
        return _cause(task_id, outcome.metadata, outcome.reason)
    return _cause(task_id, _with_exception(outcome), outcome.error_text or "failed")


def _with_exception(outcome: Failed) -> Mapping[str, Any]:
    """Return what a failure says of itself: a row that keeps no result still tells those that wait for it."""
    if EXCEPTION in outcome.metadata:
        return outcome.metadata
    return {**outcome.metadata, EXCEPTION: stored_exception(outcome.error)}


def _of_completed(metadata: Mapping[str, Any], task_id: str) -> str | dict[str, Any] | None:
    ending = metadata.get(OUTCOME, TaskOutcome.SUCCEEDED.value)
    if ending == TaskOutcome.SUCCEEDED.value:
        return part_text(metadata)
    if ending == TaskOutcome.IGNORED.value:
        return _cause(task_id, metadata, _IGNORED)
    return None


def part_text(metadata: Mapping[str, Any]) -> str:
    """Return the text of the part that hands a stored result over."""
    return json.dumps(
        {key: metadata[key] for key in (OUTPUT, RESULT) if key in metadata}, separators=(",", ":")
    )


def _cause(task_id: str, metadata: Mapping[str, Any], reason: str) -> dict[str, Any]:
    cause: dict[str, Any] = {BROKEN_BY: task_id, REASON: reason}
    if EXCEPTION in metadata:
        cause[CAUSE] = metadata[EXCEPTION]
    if TOLD in metadata:
        cause[TOLD] = metadata[TOLD]
    return cause


def _addressed(made: str | dict[str, Any], target: int, index: int) -> HandOver:
    if isinstance(made, str):
        return Part(target, index, made)
    return Break(target, index, made)


def late_hand_over(member: JobRow | None, waiting: JobRow, index: int) -> HandOver | int | None:
    """Return what a member that somebody else ended means for a task that waits.

    The id of its successor, where it has one.
    """
    if member is None:
        gone = f"job {members_of(waiting.metadata)[index]}"
        return Break(waiting.id, index, {BROKEN_BY: gone, REASON: _GONE})
    metadata = member.metadata
    successor = metadata.get(RETRY_ID)
    if isinstance(successor, int) and metadata.get(OUTCOME) in (TaskOutcome.RETRIED, TaskOutcome.REPLACED):
        return successor
    if member.state is JobState.COMPLETED:
        made = _of_completed(metadata, _task_id(member))
        return None if made is None else _addressed(made, waiting.id, index)
    if member.state is JobState.CANCELLED:
        return Break(waiting.id, index, _cause(_task_id(member), metadata, _CANCELLED))
    cause = _cause(_task_id(member), metadata, lost_reason(member))
    return Break(waiting.id, index, cause if CAUSE in cause else {**cause, LOST: True})


def _task_id(row: JobRow) -> str:
    try:
        return envelope.decode(row.encoded_args, row.id).id
    except (CallNotRunnable, MalformedCall):
        return str(row.id)


def part_values(row: JobRow, accept: Collection[str]) -> list[Any]:
    """Return the values that members have handed over to a row, in the order of their indexes.

    Raises kombu's ContentDisallowed or DecodeError.
    """
    texts = (text for _, text in sorted(parts_of(row.metadata).items()))
    return [result_value(json.loads(text), accept) for text in texts]
