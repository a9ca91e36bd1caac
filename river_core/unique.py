"""Unique jobs: the options, the key that they give and the states in which it holds (River: UniqueOpts).

A key is the SHA-256 of a text that every River client spells alike, so that a job inserted by one
language is a duplicate of the same job inserted by another. Values go into it as their producer wrote
them; nothing is decoded and written again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from river_core.encoding import encode_json
from river_core.errors import ValidationError
from river_core.job import JobState
from river_core.json_text import top_level

Path = str | Sequence[str]
"""One selected argument: a literal top-level key, or the keys that lead to a nested one."""

STATE_BITS = {state: 1 << position for position, state in enumerate(sorted(JobState))}
REQUIRED_STATES = (JobState.AVAILABLE, JobState.PENDING, JobState.RUNNING, JobState.SCHEDULED)
DEFAULT_STATES = (*REQUIRED_STATES, JobState.COMPLETED, JobState.RETRYABLE)

_FIRST_INSTANT = datetime(1, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class UniqueOpts:
    """What makes two jobs the same one (River: UniqueOpts).

    `by_args` is True for all arguments, or a list of those that count. `by_period` is in seconds: jobs of
    one period are the same. `by_state` names the states in which a job holds its key.
    """

    by_args: bool | Sequence[Path] = False
    by_period: float | timedelta | None = None
    by_queue: bool = False
    by_state: Sequence[JobState] | None = None
    exclude_kind: bool = False

    def __bool__(self) -> bool:
        """Tell whether anything is asked for."""
        return bool(
            self.by_args or self.by_period or self.by_queue or self.by_state is not None or self.exclude_kind
        )


@dataclass(frozen=True, slots=True)
class UniqueSubject:
    """What a key is computed over; `base_time`, aware, decides the period."""

    kind: str
    encoded_args: str
    queue: str
    base_time: datetime


def unique_states(opts: UniqueOpts) -> int:
    """Return the byte that stores the states in which the key holds; raises ValidationError."""
    if not opts.by_state:
        return _mask(DEFAULT_STATES)
    for state in opts.by_state:
        if state not in STATE_BITS:
            known = ", ".join(STATE_BITS)
            raise ValidationError(f"by_state holds {str(state)!r}, which is no state; the states are {known}")
    missing = [state for state in REQUIRED_STATES if state not in opts.by_state]
    if missing:
        raise ValidationError(f"by_state must also hold {', '.join(missing)}")
    return _mask(opts.by_state)


def _mask(states: Iterable[JobState]) -> int:
    mask = 0
    for state in states:
        mask |= STATE_BITS[state]
    return mask


def unique_key(opts: UniqueOpts, subject: UniqueSubject) -> bytes:
    """Return the 32 bytes of the key; raises ValidationError for options that make no sense."""
    return hashlib.sha256(unique_text(opts, subject).encode()).digest()


def unique_text(opts: UniqueOpts, subject: UniqueSubject) -> str:
    """Return the text that the key is the hash of."""
    period = _period(opts)
    if opts.exclude_kind and not (opts.by_args or opts.by_queue or period):
        raise ValidationError("exclude_kind needs by_args, by_period or by_queue: nothing else would count")
    text = "" if opts.exclude_kind else f"&kind={subject.kind}"
    if opts.by_args:
        text += f"&args={_args_text(opts.by_args, subject.encoded_args)}"
    if period:
        text += f"&period={_period_start(subject.base_time, period)}"
    if opts.by_queue:
        text += f"&queue={subject.queue}"
    return text


def _period(opts: UniqueOpts) -> timedelta:
    given = opts.by_period or 0
    try:
        period = given if isinstance(given, timedelta) else timedelta(seconds=given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValidationError(f"by_period takes seconds or a timedelta, not {given!r}") from error
    if period and period < timedelta(seconds=1):
        raise ValidationError(f"by_period must be at least 1 second, not {given!r}")
    return period


def _period_start(base_time: datetime, period: timedelta) -> str:
    """Return the start of the period; periods count from the first instant of year 1, in UTC."""
    passed = (base_time - _FIRST_INSTANT) // _MICROSECOND
    start = _FIRST_INSTANT + timedelta(microseconds=passed - passed % (period // _MICROSECOND))
    return start.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _args_text(by_args: bool | Sequence[Path], encoded_args: str) -> str:
    if isinstance(by_args, bool):
        members = top_level(encoded_args)
        return _object_text({key: members[key] for key in sorted(members)})
    if isinstance(by_args, str):
        raise ValidationError(f"by_args takes a list of keys, not {by_args!r} alone")
    selected: dict[str, object] = {}
    for path in sorted({_as_path(path) for path in by_args}, key=lambda path: (".".join(path), path)):
        value = _find(encoded_args, path)
        if value is not None:
            _place(selected, path, value)
    return _object_text(selected) if selected else ""


def _as_path(path: Path) -> tuple[str, ...]:
    keys = (path,) if isinstance(path, str) else path
    if not isinstance(keys, Sequence) or not keys or not all(isinstance(key, str) for key in keys):
        raise ValidationError(f"by_args takes keys or lists of keys, not {path!r}")
    return tuple(keys)


def _find(text: str, path: tuple[str, ...]) -> str | None:
    for key in path:
        if not text.lstrip().startswith("{"):
            return None
        found = top_level(text).get(key)
        if found is None:
            return None
        text = found
    return text


def _place(selected: dict[str, object], path: tuple[str, ...], value: str) -> None:
    """Set a value in the tree; a parent that was taken whole already holds it."""
    here = selected
    for key in path[:-1]:
        inner = here.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        here = inner
    here.setdefault(path[-1], value)


def _object_text(members: Mapping[str, object]) -> str:
    return "{" + ",".join(f"{_key_text(key)}:{_value_text(value)}" for key, value in members.items()) + "}"


def _value_text(value: object) -> str:
    return _object_text(value) if isinstance(value, Mapping) else str(value)


def _key_text(key: str) -> str:
    """Return a key as Go's hashing writes it: encoded only when it holds more than plain characters."""
    plain = all(" " <= character <= "\x7f" and character not in '"\\' for character in key)
    return f'"{key}"' if plain else encode_json(key)
