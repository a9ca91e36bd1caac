"""From what a caller asks to a checked row (River: insertParamsFromConfigArgsAndOptions).

Everything is checked before anything is written. Options of the call go before those of the
arguments' class, those before the client's. As in River's other clients, None and 0 mean "not given".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from river_core import unique
from river_core import validation as check
from river_core.encoding import encode_json
from river_core.errors import ValidationError
from river_core.insert import PRIORITY_DEFAULT, InsertOpts, InsertParams, JobArgs
from river_core.job import JobState

NO_OPTIONS = InsertOpts()


@dataclass(frozen=True, slots=True)
class InsertDefaults:
    """What a client gives to each of its inserts."""

    queue: str
    max_attempts: int
    lenient_queue_names: bool = False
    check_attempts: Callable[[Any], int] = check.max_attempts


class ResolvedOpts(NamedTuple):
    """Options of one call or of many that share them, checked, with what a client adds."""

    queue: str
    state: JobState
    priority: int
    max_attempts: int
    scheduled_at: datetime | None
    encoded_metadata: str
    tags: tuple[str, ...]
    unique_opts: unique.UniqueOpts | None


def insert_params(args: JobArgs, call: InsertOpts, defaults: InsertDefaults, now: datetime) -> InsertParams:
    """Return the row to be written for one job; raises ValidationError, which names the value.

    `now`, aware, decides the period of a unique job that is given no time.
    """
    return params_of(args, resolved_opts(own_opts(args), call, defaults), now)


def resolved_opts(own: InsertOpts, call: InsertOpts, defaults: InsertDefaults) -> ResolvedOpts:
    """Return what the options of a class and those of a call come to; raises ValidationError."""
    scheduled_at = check.scheduled_at(call.scheduled_at) or check.scheduled_at(own.scheduled_at)
    unique_opts = call.unique_opts or own.unique_opts
    if unique_opts is not None and not isinstance(unique_opts, unique.UniqueOpts):
        raise ValidationError(f"unique_opts takes UniqueOpts, not {unique_opts!r}")
    return ResolvedOpts(
        queue=check.queue(call.queue or own.queue or defaults.queue, defaults.lenient_queue_names),
        state=_state(call, scheduled_at),
        priority=check.priority(call.priority or own.priority or PRIORITY_DEFAULT),
        max_attempts=defaults.check_attempts(call.max_attempts or own.max_attempts or defaults.max_attempts),
        scheduled_at=scheduled_at,
        encoded_metadata=_encoded_metadata(own.metadata, call.metadata),
        tags=check.tags(own.tags if call.tags is None else call.tags),
        unique_opts=unique_opts or None,
    )


def params_of(args: JobArgs, opts: ResolvedOpts, now: datetime) -> InsertParams:
    """Return the row of one job with options that are resolved; raises ValidationError for its arguments."""
    params = InsertParams(
        check.kind(args.kind),
        _encoded_args(args),
        opts.queue,
        opts.state,
        opts.priority,
        opts.max_attempts,
        opts.scheduled_at,
        None,
        opts.encoded_metadata,
        opts.tags,
    )
    return _unique(params, opts.unique_opts, now) if opts.unique_opts else params


def _unique(params: InsertParams, opts: unique.UniqueOpts, now: datetime) -> InsertParams:
    subject = unique.UniqueSubject(params.kind, params.encoded_args, params.queue, params.scheduled_at or now)
    return replace(
        params, unique_key=unique.unique_key(opts, subject), unique_states=unique.unique_states(opts)
    )


def own_opts(args: JobArgs) -> InsertOpts:
    """Return the options of the arguments' class; raises ValidationError for what is none."""
    given = getattr(args, "insert_opts", None)
    if given is None:
        return NO_OPTIONS
    opts = given() if callable(given) else given
    if not isinstance(opts, InsertOpts):
        raise ValidationError(f"insert_opts() of {type(args).__name__} must return InsertOpts, not {opts!r}")
    return opts


def _state(call: InsertOpts, scheduled_at: datetime | None) -> JobState:
    if call.pending:
        return JobState.PENDING
    if call.state is not None:
        return check.state(call.state)
    return JobState.SCHEDULED if scheduled_at is not None else JobState.AVAILABLE


def _encoded_args(args: JobArgs) -> str:
    text = args.to_json()
    if not isinstance(text, str):
        raise ValidationError(f"to_json() of kind {args.kind!r} must return text, not {type(text).__name__}")
    check.json_object(f"args of kind {args.kind!r}", text)
    return text


def _encoded_metadata(own: Mapping[str, Any] | None, call: Mapping[str, Any] | None) -> str:
    if own is None and call is None:
        return "{}"
    for given in (own, call):
        if given is not None and not isinstance(given, Mapping):
            raise ValidationError(f"metadata takes a dict, not {given!r}")
    merged = {**(own or {}), **(call or {})}
    if not merged:
        return "{}"
    text = encode_json(merged)
    check.json_object("metadata", text)
    return text


def check_params(row: InsertParams, lenient_queue_names: bool) -> None:
    """Check a row that was put together without options; the JSON in it is its maker's affair."""
    check.kind(row.kind)
    check.queue(row.queue, lenient_queue_names)
    check.priority(row.priority)
    check.max_attempts(row.max_attempts)
    check.state(row.state)
    if row.tags:
        check.tags(row.tags)
