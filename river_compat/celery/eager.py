"""Runs tasks here and now: `apply()` and `task_always_eager`. No database is touched."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from river_compat import codec
from river_compat.celery import _state, states
from river_compat.celery import options as call_options
from river_compat.celery.app import trace
from river_compat.celery.canvas.lazy import as_list
from river_compat.celery.canvas.linking import linked
from river_compat.celery.eager_result import EagerResult
from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.exceptions import Retry, TaskRevokedError
from river_compat.celery.following import call_errbacks, send_callbacks
from river_compat.celery.request import STORING, Context, Storing
from river_compat.celery.timing import expires_text, is_expired
from river_core import clock

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.app.task import Task

_FIELDS = ("group_index", "headers", "logfile", "loglevel", "replaced_task_nesting", "retries")
_KEPT = (
    "group_id",
    "group_index",
    "headers",
    "ignore_result",
    "link",
    "link_error",
    "priority",
    "queue",
    "replaced_task_nesting",
    "retries",
    "stamped_headers",
    "task_id",
)


def apply_as_sent(task: Task[..., Any], args: Any, kwargs: Any, options: dict[str, Any]) -> EagerResult[Any]:
    """Run a call of `apply_async` in place, through the serializer, as a worker would see it.

    Raises kombu's EncodeError, and what `apply_async` raises for options.
    """
    call_options.refuse(options)
    conf = task.app.conf
    serializer = options.get("serializer") or conf.task_serializer
    compression = options.get("compression") or conf.task_compression
    body = codec.compressed(codec.encode((args or (), kwargs or {}), serializer), compression)
    accept = {body.content_type}
    args, kwargs = codec.decode(body.text, body.content_type, body.content_encoding, accept, body.compression)
    if _has_expired(task.app, options):
        return _expired(task, options)
    kept = {name: options.get(name) for name in (*_KEPT, *(options.get("stamped_headers") or ()))}
    with _state.join_allowed(False):
        return task.apply(args, kwargs, **kept)


def _has_expired(app: Celery, options: Mapping[str, Any]) -> bool:
    """Whether the call would come too late for a worker, too: Celery's eager mode runs it all the same."""
    expires = options.get("expires")
    if not expires:
        return False
    now = clock.now()
    return is_expired(expires_text(expires, app.timezone, now, str(options.get("task_id") or "")), now)


def _expired(task: Task[..., Any], options: Mapping[str, Any]) -> EagerResult[Any]:
    task_id = options.get("task_id") or str(uuid.uuid4())
    return EagerResult(task_id, TaskRevokedError("expired"), states.REVOKED, name=task.name)


def apply(
    task: Task[..., Any],
    args: Any,
    kwargs: Mapping[str, Any],
    task_id: str | None,
    throw: bool,
    fields: Mapping[str, Any],
) -> EagerResult[Any]:
    """Run a task until it does not retry any more and return the last run's result.

    With `throw` its exceptions are raised; a Retry, too.
    """
    registered = task.app.tasks[task.name]
    request = _request(registered, task_id or str(uuid.uuid4()), args, kwargs, fields)
    request.__dict__[STORING] = Storing(
        partial(_followed, task.app, request), failed=partial(_told_failure, task.app, request)
    )
    run = trace.build_tracer(registered.name, registered, eager=True, propagate=throw, app=task.app)
    ending = run(request.id, request.args, request.kwargs, request)
    _store(registered, request, ending)
    error = ending.value
    if isinstance(error, Retry) and error.sig is not None:  # raised, or returned with throw=False
        result: EagerResult[Any] = error.sig.apply(retries=request.retries + 1)
        return result
    einfo: ExceptionInfo | None = ending.einfo
    return EagerResult(
        request.id,
        ending.value,
        ending.state,
        traceback=einfo.traceback if einfo is not None else None,
        name=registered.name,
    )


def _store(task: Task[..., Any], request: Context, ending: Any) -> None:
    """Store the end of a run where the task has `store_eager_result`; raises kombu's OperationalError."""
    if not task.store_eager_result or request.ignore_result:
        return
    if ending.state in states.ALL_STATES:
        trace = ending.einfo.traceback if ending.einfo is not None else None
        error = ending.value
        value = error.exc if isinstance(error, Retry) and error.exc is not None else error
        task.backend.store_result(request.id, value, ending.state, traceback=trace, request=request)


def _request(
    task: Task[..., Any], task_id: str, args: Any, kwargs: Mapping[str, Any], fields: Mapping[str, Any]
) -> Context:
    parent = _state.top_frame()
    parent_id = parent.request.id if parent is not None else None
    root_id = (parent.request.root_id if parent is not None else None) or task_id
    ignore_result = fields.get("ignore_result")
    limits = [task.time_limit, task.soft_time_limit]
    return Context(
        {name: fields[name] for name in _FIELDS if fields.get(name) is not None},
        id=task_id,
        task=task.name,
        args=args,
        kwargs=kwargs,
        parent_id=parent_id,
        root_id=root_id,
        is_eager=True,
        called_directly=False,
        hostname=socket.gethostname(),
        ignore_result=task.ignore_result if ignore_result is None else ignore_result,
        callbacks=linked(fields.get("link")) or None,
        errbacks=linked(fields.get("link_error")) or None,
        group=fields.get("group_id"),
        **_stamps(fields),
        timelimit=limits if any(limits) else None,
        delivery_info={
            "is_eager": True,
            "exchange": fields.get("exchange"),
            "routing_key": fields.get("routing_key") or fields.get("queue"),
            "priority": fields.get("priority"),
        },
    )


def _followed(app: Celery, request: Context, value: Any) -> Any:
    send_callbacks(app, request, value)
    return value


def _told_failure(app: Celery, request: Context, error: BaseException, einfo: ExceptionInfo) -> None:
    call_errbacks(app, request, error, einfo.traceback)


def _stamps(fields: Mapping[str, Any]) -> dict[str, Any]:
    names = fields.get("stamped_headers")
    if not names:
        return {}
    return {"stamped_headers": names, "stamps": {name: as_list(fields.get(name)) for name in names}}
