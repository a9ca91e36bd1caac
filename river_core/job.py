"""A stored job: its states, its row and the errors of its attempts.

A row keeps the JSON columns as the text that the database gave. They are decoded where they are
used, so that a row with a broken value fails alone and a claim of many rows costs little.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from river_core.errors import JobRowDecodeError


class JobState(StrEnum):
    """The eight states of a row (River: JobState)."""

    AVAILABLE = "available"
    CANCELLED = "cancelled"
    COMPLETED = "completed"
    DISCARDED = "discarded"
    PENDING = "pending"
    RETRYABLE = "retryable"
    RUNNING = "running"
    SCHEDULED = "scheduled"


FINAL_STATES = frozenset({JobState.CANCELLED, JobState.COMPLETED, JobState.DISCARDED})


@dataclass(frozen=True, slots=True)
class AttemptError:
    """One element of `errors` (River: AttemptError)."""

    at: datetime
    attempt: int
    error: str
    trace: str

    def to_json(self) -> dict[str, Any]:
        """Return the four keys that River stores; `at` is RFC 3339 in UTC with the shortest fraction."""
        return {"at": rfc3339(self.at), "attempt": self.attempt, "error": self.error, "trace": self.trace}


def rfc3339(moment: datetime) -> str:
    """Write an aware time in UTC with `Z` and no needless digits, as River's own clients do."""
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
    return text.rstrip("0").rstrip(".") + "Z"


@dataclass(frozen=True, slots=True)
class JobRow:
    """One row of `river_job` (River: JobRow). Times are aware and in UTC."""

    id: int
    state: JobState
    attempt: int
    max_attempts: int
    attempted_at: datetime | None
    created_at: datetime
    finalized_at: datetime | None
    scheduled_at: datetime
    priority: int
    queue: str
    kind: str
    encoded_args: str
    encoded_metadata: str
    encoded_tags: str
    encoded_errors: str | None
    encoded_attempted_by: str | None
    unique_key: bytes | None
    unique_states: int | None

    def check(self) -> None:
        """Raise JobRowDecodeError when a JSON column is not of its kind; cheap for rows that are in order.

        The texts come from the database, which gives valid JSON, so that the first character tells.
        """
        is_in_order = (
            self.encoded_args.startswith("{")
            and self.encoded_metadata.startswith("{")
            and self.encoded_tags.startswith("[")
            and (self.encoded_errors is None or self.encoded_errors.startswith("["))
        )
        if not is_in_order:
            _ = self.args, self.metadata, self.tags, self.errors

    @property
    def args(self) -> dict[str, Any]:
        """The arguments; raises JobRowDecodeError when they are no JSON object."""
        return decode_object("args", self.encoded_args)

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata; raises JobRowDecodeError when it is no JSON object."""
        return decode_object("metadata", self.encoded_metadata)

    @property
    def tags(self) -> list[str]:
        """The tags, in stored order."""
        return _decode_list("tags", self.encoded_tags)

    @property
    def attempted_by(self) -> list[str]:
        """Ids of the clients that claimed the job, oldest first."""
        return _decode_list("attempted_by", self.encoded_attempted_by)

    @property
    def errors(self) -> list[AttemptError]:
        """Errors of past attempts, oldest first, read leniently as River 0.48 does."""
        return [_read_error(element) for element in _decode_list("errors", self.encoded_errors)]


def _decode(column: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise JobRowDecodeError(f"{column}: {error}") from error


def decode_object(column: str, text: str) -> dict[str, Any]:
    """Return the JSON object in a column; raises JobRowDecodeError for anything else."""
    value = _decode(column, text)
    if not isinstance(value, dict):
        raise JobRowDecodeError(f"{column}: a JSON object was expected, not {type(value).__name__}")
    return value


def _decode_list(column: str, text: str | None) -> list[Any]:
    if text is None:
        return []
    value = _decode(column, text)
    if value is None:
        return []
    if not isinstance(value, list):
        raise JobRowDecodeError(f"{column}: a JSON array was expected, not {type(value).__name__}")
    return value


_NO_TIME = datetime(1, 1, 1, tzinfo=UTC)


def _read_error(element: Any) -> AttemptError:
    if not isinstance(element, dict):
        return AttemptError(_NO_TIME, 0, _as_text(element), "")
    return AttemptError(
        at=_as_time(element.get("at")),
        attempt=_as_int(element.get("attempt")),
        error=_as_text(element.get("error")),
        trace=_as_text(element.get("trace")),
    )


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _as_int(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0


def _as_time(value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return _NO_TIME
    return moment.astimezone(UTC) if moment.tzinfo else _NO_TIME
