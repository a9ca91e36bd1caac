"""From how an attempt ended to what is written: River's order of decisions, without I/O.

Called by the executor for every finished attempt. The order is River's: snooze and cancel before
interruption, then `retries`, the attempt budget and the retry policies (River: jobexecutor).
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from river_core import outcome as o
from river_core.encoding import sanitize_text
from river_core.errors import (
    ControlFlow,
    JobCancelError,
    JobInterruptedError,
    JobRowDecodeError,
    JobSnoozeError,
)
from river_core.job import AttemptError, JobRow
from river_core.outcome import Metadata, Outcome, StateChange
from river_core.retry import DefaultRetryPolicy, RetryPolicy
from river_core.task import Task

SCHEDULER_INTERVAL = timedelta(seconds=5)
SNOOZES_KEY = "snoozes"
MAX_TRACE_CHARACTERS = 32_768
_WHOLE = re.compile(r"-?[0-9]{1,4300}")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The facts about one attempt that a decision needs. `task` is None for an unknown kind."""

    row: JobRow
    started_at: datetime
    task: Task | None
    policy: RetryPolicy


def outcome_of(error: BaseException) -> Outcome:
    """Return the outcome that an exception stands for.

    Control flow counts wherever it is: as the exception, as an explicit cause, or in a group.
    """
    signal = next((link for link in _chain(error) if isinstance(link, ControlFlow)), None)
    if isinstance(signal, JobSnoozeError):
        return o.Snoozed(signal.seconds)
    if isinstance(signal, JobCancelError):
        return o.Cancelled(str(signal))
    if isinstance(signal, JobInterruptedError):
        return o.Interrupted(began=signal.began)
    return o.Failed(error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting.extend(link.exceptions)
        if link.__cause__ is not None:
            waiting.append(link.__cause__)


def decide(outcome: Outcome, attempt: Attempt, now: datetime, extra: Metadata) -> StateChange:
    """Return what is written for `outcome`; `extra` is the metadata that the task collected."""
    metadata = {**extra, **outcome.metadata}
    match outcome:
        case o.Completed():
            change = o.set_completed(now, metadata, outcome)
            if outcome.if_cancelled is None:
                return change
            return replace(change, if_cancelled=decide(outcome.if_cancelled, attempt, now, extra))
        case o.Snoozed():
            return _snoozed(outcome.seconds, attempt.row, now, metadata)
        case o.Cancelled():
            error = _attempt_error(attempt, outcome.reason, outcome.trace)
            return o.set_cancelled(now, error, metadata, outcome)
        case o.Interrupted(still_waits=True):
            return o.set_waiting(_restored(attempt.row), metadata)
        case o.Interrupted():
            return o.set_interrupted(now, _restored(attempt.row), metadata)
        case o.Failed():
            return _failed(outcome, attempt, now, metadata)
        case _:
            assert_never(outcome)


def _snoozed(seconds: float, row: JobRow, now: datetime, metadata: dict[str, object]) -> StateChange:
    metadata[SNOOZES_KEY] = _wrapped(snooze_count(row) + 1)
    delay = timedelta(seconds=seconds)
    return o.set_snoozed(now + delay, delay <= SCHEDULER_INTERVAL, _restored(row), metadata)


def snooze_count(row: JobRow) -> int:
    """Return how often the job was snoozed, read as River for Go reads what others may have written there.

    Fractions are cut, whole numbers in texts count, and so does true; anything else is 0.
    """
    try:
        value = row.metadata.get(SNOOZES_KEY, 0)
        return _wrapped(int(value)) if _is_counted(value) else 0
    except (JobRowDecodeError, OverflowError, ValueError):
        return 0


def _is_counted(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and bool(_WHOLE.fullmatch(value)))


def _wrapped(number: int) -> int:
    """Return a number as it is in 64 bits, as River's other clients hold it."""
    return (number + 2**63) % 2**64 - 2**63


def _restored(row: JobRow) -> int:
    return max(row.attempt - 1, 0)


def _failed(failed: o.Failed, attempt: Attempt, now: datetime, metadata: Metadata) -> StateChange:
    error = _attempt_error(attempt, failed.error_text or error_text(failed.error), _trace(failed))
    if not _may_retry(failed, attempt):
        return o.set_discarded(now, error, metadata, failed)
    when = next_retry(attempt, failed.error, now)
    return o.set_error(when, when - now <= SCHEDULER_INTERVAL, error, metadata)


def _may_retry(failed: o.Failed, attempt: Attempt) -> bool:
    if failed.retry is False or attempt.row.attempt >= attempt.row.max_attempts:
        return False
    if attempt.task is None:
        return True
    try:
        return bool(attempt.task.retries(attempt.row, failed.error))
    except Exception:
        logger.exception("retries() of a task raised; the job is retried", extra={"job_id": attempt.row.id})
        return True


def next_retry(attempt: Attempt, error: BaseException, now: datetime) -> datetime:
    """Ask the task, then the worker's policy; fall back to River's default for an unusable answer."""
    try:
        when = attempt.task.next_retry(attempt.row, error) if attempt.task else None
        when = when or attempt.policy.next_retry(attempt.row, now)
        if when.tzinfo is not None and when >= now:
            return when
        logger.warning("a retry policy gave an unusable time", extra={"job_id": attempt.row.id, "time": when})
    except Exception:
        logger.exception("a retry policy raised", extra={"job_id": attempt.row.id})
    return _default_retry(attempt.row, now)


def _default_retry(row: JobRow, now: datetime) -> datetime:
    try:
        return DefaultRetryPolicy().next_retry(row, now)
    except Exception:
        logger.exception("the errors of a job cannot be counted", extra={"job_id": row.id})
        return now + timedelta(seconds=float(row.attempt**4))


def error_text(error: BaseException) -> str:
    """Return the text that is stored for an exception: its own, or its class name when it has none."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the failure
        text = ""
    return text or type(error).__name__


def _attempt_error(attempt: Attempt, text: str, trace: str) -> AttemptError:
    return AttemptError(attempt.started_at, attempt.row.attempt, sanitize_text(text), sanitize_text(trace))


def _trace(failed: o.Failed) -> str:
    if failed.trace is not None:
        return failed.trace
    return format_trace(failed.error)


def format_trace(error: BaseException) -> str:
    """Return the traceback of an exception that was raised, cut at its end to 32,768 characters."""
    if error.__traceback__ is None:
        return ""
    text = "".join(traceback.format_exception(error))
    return text if len(text) <= MAX_TRACE_CHARACTERS else "…" + text[-MAX_TRACE_CHARACTERS:]
