"""From the suite's requests to the options of our own client."""

from __future__ import annotations

from datetime import timedelta

from river_core.conformance.failures import invalid_params
from river_core.conformance.params import JobRequest, ListJobs, Opts, Unique, WorkerKind
from river_core.encoding import encode_json
from river_core.errors import ValidationError
from river_core.insert import EncodedArgs, InsertManyParams, InsertOpts
from river_core.job_list import LIMIT_DEFAULT, JobListCursor, JobListParams
from river_core.unique import UniqueOpts


def echo_args(behavior: str = "", duration_ms: int = 0, message: str = "") -> EncodedArgs:
    """Return the arguments of every job that the suite inserts; each key is always there, in this order."""
    args = {"behavior": behavior, "duration_ms": duration_ms, "message": message}
    return EncodedArgs(WorkerKind.ECHO, encode_json(args))


def insert_params(request: JobRequest) -> InsertManyParams:
    """Return one job of a batch."""
    return InsertManyParams(
        echo_args(request.behavior, request.duration_ms, request.message), _insert_opts(request.opts)
    )


def _insert_opts(opts: Opts) -> InsertOpts:
    return InsertOpts(
        max_attempts=opts.max_attempts,
        priority=opts.priority,
        queue=opts.queue,
        scheduled_at=opts.scheduled_at,
        tags=opts.tags,
        metadata=opts.metadata,
        pending=opts.pending,
        unique_opts=None if opts.unique is None else _unique_opts(opts.unique),
    )


def _unique_opts(unique: Unique) -> UniqueOpts:
    return UniqueOpts(
        by_args=unique.by_args,
        by_period=timedelta(milliseconds=unique.by_period_ms) if unique.by_period_ms else None,
        by_queue=unique.by_queue,
        by_state=unique.by_state or None,
        exclude_kind=unique.exclude_kind,
    )


def list_params(request: ListJobs) -> JobListParams:
    """Return what is to be listed; raises CodedError for a cursor that is none."""
    return JobListParams(
        after=_cursor(request.after) if request.after else None,
        direction=request.direction.value,
        ids=request.ids,
        kinds=request.kinds,
        limit=request.limit or LIMIT_DEFAULT,
        metadata=request.metadata,
        order_by=request.order_by.value,
        priorities=request.priorities,
        queues=request.queues,
        states=request.states,
        tags_all=request.tags_all,
    )


def _cursor(text: str) -> JobListCursor:
    try:
        return JobListCursor.decode(text)
    except ValidationError as error:
        raise invalid_params(str(error)) from error
