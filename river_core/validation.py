"""Checks of single values that go into a row; each raises ValidationError, which names the value.

The limits are River's: what passes here, its other clients read and the database stores.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from river_core.errors import ValidationError
from river_core.job import JobState

MAX_ATTEMPTS = 32_767
MAX_INTEGER = 2**63 - 1
MAX_LIMIT = 10_000
MAX_NAME_LENGTH = 127
MAX_QUEUE_LENGTH = 64
MAX_TAG_LENGTH = 255
PRIORITIES = range(1, 5)
INITIAL_STATES = (JobState.AVAILABLE, JobState.PENDING, JobState.SCHEDULED)
NO_TIME = datetime(1, 1, 1, tzinfo=UTC)
"""The zero time of River's other clients, which stands for a time that was not given."""

_QUEUE = re.compile(r"[a-z0-9]+(?:[_|-][a-z0-9]+)*")
_TAG = re.compile(r"\w[\w-]+\w", re.ASCII)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_PERHAPS_UNSTORABLE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def kind(kind: Any) -> str:
    """Return a kind that the database takes: 1 to 127 characters."""
    if not isinstance(kind, str) or not 0 < len(kind) <= MAX_NAME_LENGTH or not is_storable(kind):
        raise ValidationError(f"kind {kind!r} must be text of 1 to {MAX_NAME_LENGTH} characters, without NUL")
    return kind


def queue(name: Any, lenient: bool = False) -> str:
    """Return a queue's name that River's clients take; `lenient` accepts whatever the database does."""
    if not isinstance(name, str) or not name or not is_storable(name):
        raise ValidationError(f"queue {name!r} must be text of at least one character, without NUL")
    limit = MAX_NAME_LENGTH if lenient else MAX_QUEUE_LENGTH
    if len(name) > limit:
        raise ValidationError(f"queue {name!r} is longer than {limit} characters")
    if not lenient and not is_portable_queue(name):
        raise ValidationError(
            f"queue {name!r} must consist of lower-case letters and digits with single '_', '-' or '|' inside"
        )
    return name


def is_portable_queue(name: str) -> bool:
    """Tell whether River's other clients take a queue of this name."""
    return len(name) <= MAX_QUEUE_LENGTH and _QUEUE.fullmatch(name) is not None


def priority(priority: Any) -> int:
    """Return a priority from 1, the first to run, to 4."""
    return in_range("priority", priority, PRIORITIES.start, PRIORITIES.stop - 1)


def max_attempts(max_attempts: Any) -> int:
    """Return a number of attempts that fits into the column, 1 to 32767."""
    return in_range("max_attempts", max_attempts, 1, MAX_ATTEMPTS)


def wide_max_attempts(max_attempts: Any) -> int:
    """Return a number of attempts as Go's clients take it, 1 to the highest of 64 bits."""
    return in_range("max_attempts", max_attempts, 1, MAX_INTEGER)


def limit(limit: Any) -> int:
    """Return how many rows a list gives at most, 1 to 10,000."""
    return in_range("limit", limit, 1, MAX_LIMIT)


def in_range(name: str, value: Any, lowest: int, highest: int) -> int:
    """Return a whole number that lies in a range, both ends included."""
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise ValidationError(f"{name} must be a whole number from {lowest} to {highest}, not {value!r}")
    return value


def texts(name: str, values: Any) -> tuple[str, ...]:
    """Return texts that the database can compare with; one text alone is a mistake."""
    for value in members(name, values):
        if not isinstance(value, str) or not is_storable(value):
            raise ValidationError(f"{name} takes texts without NUL, not {value!r}")
    return tuple(values)


def members(name: str, values: Any) -> Collection[Any]:
    """Return a list, tuple or set as it is."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Collection):
        raise ValidationError(f"{name} takes a list, not {values!r}")
    return values


def tags(tags: Any) -> tuple[str, ...]:
    """Return tags of 3 to 255 word characters and hyphens, no hyphen at either end."""
    if tags is None:
        return ()
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise ValidationError(f"tags takes a list of texts, not {tags!r}")
    for tag in tags:
        if not isinstance(tag, str) or len(tag) > MAX_TAG_LENGTH or not _TAG.fullmatch(tag):
            raise ValidationError(
                f"tag {tag!r} must have 3 to {MAX_TAG_LENGTH} letters, digits, '_' or inner '-'"
            )
    return tuple(tags)


def scheduled_at(moment: Any) -> datetime | None:
    """Return an aware time, in UTC, or None when none is given."""
    if moment is None:
        return None
    utc = aware_time("scheduled_at", moment)
    return None if utc == NO_TIME else utc


def aware_time(name: str, moment: Any) -> datetime:
    """Return an aware time in UTC."""
    if not isinstance(moment, datetime):
        raise ValidationError(f"{name} takes a datetime, not {moment!r}")
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ValidationError(
            f"{name} {moment.isoformat()} has no time zone; give one, as datetime.now(UTC) + delay has"
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValidationError(f"{name} {moment.isoformat()} is outside the years 1 to 9999") from error


def state(state: Any) -> JobState:
    """Return a state in which a job may be inserted."""
    if state not in INITIAL_STATES:
        names = ", ".join(INITIAL_STATES)
        raise ValidationError(f"a job can be inserted in state {names}, not {str(state)!r}")
    return JobState(state)


def json_object(name: str, text: str) -> None:
    """Raise ValidationError unless `text` is a JSON object that both databases take."""
    try:
        value = _decode(text)
    except (ValueError, RecursionError) as error:
        raise ValidationError(f"{name}: this is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValidationError(f"{name} must be a JSON object, not {text[:80]}")
    if not is_storable(text):
        _refuse_character(name)
    if "\\u" not in text:
        return
    if _PERHAPS_UNSTORABLE.search(text) and not all(is_storable(part) for part in _texts(value)):
        _refuse_character(name)


def is_storable(text: str) -> bool:
    """Tell whether a text has neither NUL nor half of a surrogate pair in it."""
    return "\x00" not in text and (text.isascii() or not _UNSTORABLE.search(text))


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


_decode = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse_constant).decode


def _refuse_character(name: str) -> NoReturn:
    raise ValidationError(
        f"{name}: there is a NUL character or half of a surrogate pair in it, which Postgres cannot store as "
        "JSON; remove it, or send the bytes as base64 text"
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
