"""What every stored row must keep to, so that River's other clients can read it.

These are the rules of the protocol as other clients apply them, written a second time on purpose: the
check does not trust the product's own decoder. It runs after every test, over the whole table.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from river_core.db.statement import Dialect
from river_core.drivers.base import Row

FINAL_STATES = {"cancelled", "completed", "discarded"}
STATES = FINAL_STATES | {"available", "pending", "retryable", "running", "scheduled"}
SQLITE_TIME_LENGTH = 23

POSTGRES_ROWS = """
SELECT id, state::text, args::text, metadata::text, to_jsonb(errors)::text, to_jsonb(attempted_by)::text,
    to_jsonb(tags)::text, finalized_at::text, unique_key IS NOT NULL, unique_states::integer,
    scheduled_at::text, created_at::text, attempt, max_attempts
FROM {}.river_job ORDER BY id
"""
SQLITE_ROWS = """
SELECT id, state, json(args), json(metadata), json(errors), json(attempted_by),
    json(tags), finalized_at, unique_key IS NOT NULL, unique_states,
    scheduled_at, created_at, attempt, max_attempts,
    typeof(args) = 'blob' AND typeof(metadata) = 'blob' AND typeof(tags) = 'blob'
        AND typeof(errors) IN ('blob', 'null') AND typeof(attempted_by) IN ('blob', 'null')
        AND typeof(unique_key) IN ('blob', 'null') AND typeof(unique_states) IN ('integer', 'null')
FROM river_job ORDER BY id
"""


def broken_rules(rows: Iterable[Row], dialect: Dialect) -> list[str]:
    """Return what is wrong with the rows that the statement above gave, one line each."""
    return [f"job {row[0]}: {problem}" for row in rows for problem in _problems(row, dialect)]


def _problems(row: Row, dialect: Dialect) -> Iterator[str]:
    _, state, args, metadata, errors, attempted_by, tags, finalized_at, has_key, key_states, *rest = row
    scheduled_at, created_at, attempt, max_attempts, *storage = rest
    if state not in STATES:
        yield f"state {state!r} is none of River's"
    if (finalized_at is not None) != (state in FINAL_STATES):
        yield f"finalized_at is {finalized_at} in state {state}"
    if not isinstance(_read(args), dict):
        yield f"args is no object: {args}"
    yield from _metadata_problems(_read(metadata))
    yield from _error_problems(_read(errors))
    yield from _text_problems("attempted_by", _read(attempted_by) or [], "\x00")
    yield from _text_problems("tags", _read(tags), ",")
    if key_states == 0 or (has_key and key_states is None):
        yield f"unique_states is {key_states} with unique_key {'set' if has_key else 'NULL'}"
    if not 0 <= attempt <= max(max_attempts, attempt) <= 32767:
        yield f"attempt {attempt} of {max_attempts}"
    yield from _time_problems((scheduled_at, created_at), finalized_at, dialect)
    if storage and not storage[0]:
        yield "a JSON column or the unique key is not stored as River stores it"


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _metadata_problems(metadata: Any) -> Iterator[str]:
    if not isinstance(metadata, dict):
        yield f"metadata is no object: {metadata!r}"
    elif "cancel_attempted_at" in metadata and not _is_zoned_time(metadata["cancel_attempted_at"]):
        yield f"cancel_attempted_at is no RFC 3339 time: {metadata['cancel_attempted_at']!r}"


def _error_problems(errors: Any) -> Iterator[str]:
    if errors is not None and not isinstance(errors, list):
        yield f"errors is no array: {errors!r}"
        return
    for error in errors or []:
        if not isinstance(error, dict):
            yield f"an error is no object: {error!r}"
            continue
        if not _is_zoned_time(error.get("at")):
            yield f"an error's at is no RFC 3339 time with a zone: {error.get('at')!r}"
        if type(error.get("attempt")) is not int:
            yield f"an error's attempt is no integer: {error.get('attempt')!r}"
        yield from _text_problems("an error", [error.get("error"), error.get("trace")], "\x00")


def _text_problems(what: str, values: Any, forbidden: str) -> Iterator[str]:
    if not isinstance(values, list) or any(
        not isinstance(value, str) or forbidden in value for value in values
    ):
        yield f"{what} must hold texts without {forbidden!r}: {values!r}"


def _is_zoned_time(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        return False


def _time_problems(required: tuple[Any, Any], finalized_at: Any, dialect: Dialect) -> Iterator[str]:
    for value in (*required, finalized_at):
        if value is None:
            continue
        if not isinstance(value, str) or "infinity" in value:
            yield f"time {value!r}"
        elif dialect is Dialect.SQLITE and len(value) != SQLITE_TIME_LENGTH:
            yield f"time {value!r} does not have {SQLITE_TIME_LENGTH} characters"
    if None in required:
        yield "scheduled_at or created_at is NULL"
