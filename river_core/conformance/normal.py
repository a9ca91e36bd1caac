"""Stored jobs as the suite wants to see them: plain JSON, with every digit that is in the row."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from river_core.encoding import JsonText
from river_core.errors import JobRowDecodeError
from river_core.job import JobRow, rfc3339
from river_core.json_text import top_level
from river_core.unique import STATE_BITS

NONCE_KEY = "river:unique_nonce"

_FRACTION = re.compile(r"\.(\d+)")
_NO_TIME = datetime(1, 1, 1, tzinfo=UTC)


def normal_job(row: JobRow) -> dict[str, Any]:
    """Return a job; raises JobRowDecodeError for a row that cannot be read."""
    _ = row.args, row.metadata
    return {
        "args": JsonText(row.encoded_args),
        "attempt": row.attempt,
        "attempted_at": _time(row.attempted_at),
        "attempted_by": row.attempted_by,
        "created_at": _time(row.created_at),
        "errors": _errors(row),
        "finalized_at": _time(row.finalized_at),
        "id": row.id,
        "kind": row.kind,
        "max_attempts": row.max_attempts,
        "metadata": JsonText(without_nonce(row.encoded_metadata)),
        "priority": row.priority,
        "queue": row.queue,
        "scheduled_at": _time(row.scheduled_at),
        "state": row.state.value,
        "tags": row.tags,
        "unique_key": None if row.unique_key is None else bytes(row.unique_key).hex(),
        "unique_states": None if row.unique_states is None else _states(row.unique_states),
    }


def without_nonce(metadata: str) -> str:
    """Return metadata without the nonce of their insert, which is random."""
    members = top_level(metadata)
    if NONCE_KEY not in members:
        return metadata
    kept = (f"{json.dumps(key)}:{text}" for key, text in members.items() if key != NONCE_KEY)
    return "{" + ",".join(kept) + "}"


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else rfc3339(moment)


def _errors(row: JobRow) -> list[dict[str, Any]]:
    """Return the errors; their times keep the nanoseconds that other clients write."""
    stored = json.loads(row.encoded_errors or "[]") or []
    if not isinstance(stored, list):
        raise JobRowDecodeError("errors: a JSON array was expected")
    shown = []
    for element, error in zip(stored, row.errors, strict=True):
        at = element.get("at") if isinstance(element, dict) else None
        text = utc_text(at) if isinstance(at, str) and error.at != _NO_TIME else rfc3339(error.at)
        shown.append({**error.to_json(), "at": text})
    return shown


def utc_text(text: str) -> str:
    """Return an RFC 3339 time in UTC with all digits of its fraction, the last ones not 0."""
    fraction = _FRACTION.search(text)
    whole = rfc3339(datetime.fromisoformat(_FRACTION.sub("", text)))
    digits = fraction.group(1).rstrip("0") if fraction else ""
    return f"{whole.removesuffix('Z')}.{digits}Z" if digits else whole


def _states(mask: int) -> list[str]:
    return sorted(state.value for state, bit in STATE_BITS.items() if mask & bit)
