"""Sends calls: options become a `Message`, the message a row, in the caller's transaction or our own.

Options come, in rising order, from the settings, the task's attributes and the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import river_core.ambient
from river_compat.celery import _state, outgoing, publish_telling, workflow_calls
from river_compat.celery import options as call_options
from river_compat.celery.exceptions import unsupported
from river_compat.celery.message import Embedded, Message, row_of
from river_compat.celery.outgoing import Outgoing, ToWrite
from river_compat.celery.priority import river_priority
from river_compat.celery.publishing import MadeWhileWritten, PublishPolicy, Rows, publish
from river_compat.celery.routing import checked_queue, routed
from river_compat.celery.timing import checked_seconds, eta_text, expires_text
from river_compat.task_ids import fresh_id
from river_core import clock
from river_core.client import Enqueue
from river_core.insert import InsertParams
from river_core.links import Links

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.app.task import Task
    from river_compat.celery.async_result import AsyncResult
    from river_compat.celery.canvas.plan import Step

TASK_OPTIONS = (
    "queue",
    "exchange",
    "routing_key",
    "priority",
    "compression",
    "expires",
    "serializer",
    "delivery_mode",
    "river_enqueue_in",
    "soft_time_limit",
    "time_limit",
)
_CALLER_HEADERS = ("retries", "root_id", "parent_id", "shadow", "reply_to", "replaced_task_nesting", "origin")


def task_options(task: Task[..., Any]) -> dict[str, Any]:
    """Return the options that a task's attributes give to each of its calls."""
    found = ((name, getattr(task, name, None)) for name in TASK_OPTIONS)
    return {name: value for name, value in found if value is not None}


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it was asked for. `task` is None for a name that nobody registered here.

    `parent` is the running task that sends it, None for a retry, which keeps its parent.
    """

    task_id: str
    name: str
    args: Any
    kwargs: Any
    task: Task[..., Any] | None
    options: Mapping[str, Any]
    parent: _state.Frame | None = None
    embedded: Embedded = field(default_factory=Embedded)
    group: str | None = None
    step: Step | None = None
    links: Links | None = None
    """How the row hangs together with others, for one that takes the place of another."""
    inherited: Mapping[str, Any] = field(default_factory=dict)
    """Headers that such a row keeps."""


def send(
    app: Celery, name: str, args: Any, kwargs: Any, task: Task[..., Any] | None, options: dict[str, Any]
) -> AsyncResult[Any]:
    """Insert the row of a call and return its result handle.

    Inside of a workflow, or of a task's end, the row is put with the others that are written at once.
    Raises UnsupportedFeature, TypeError, ValueError, kombu's EncodeError and OperationalError; nothing
    is written then.
    """
    step: Step | None = options.pop(outgoing.OPTION, None)
    call_options.refuse(options)
    if options.get("chain"):
        first: AsyncResult[Any] = workflow_calls.send_with_rest(app, name, args, kwargs, task, options)
        return first
    own_id = None if options.get("task_id") else fresh_id()
    task_id = own_id or options["task_id"]
    parent = _state.get_current_worker_frame()
    embedded, group = workflow_calls.embedded(options), options.get("group_id")
    item = prepared(app, Call(task_id, name, args, kwargs, task, options, parent, embedded, group, step))
    batch = outgoing.current()
    if batch is not None:
        batch.items.append(item)
    else:
        _write(app, [item], own_id)
    if step is not None:
        step.is_sent = True
    elif parent is not None and options.get("add_to_parent", True) and parent.task.trail:
        parent.request.children.append(item.handle)
    handle: AsyncResult[Any] = item.handle
    return handle


def prepared(app: Celery, call: Call) -> Outgoing:
    """Return the row of a call with its handle. Every row of every workflow passes here, once."""
    now = clock.now()
    policy = {**app.conf.task_publish_retry_policy, **(call.options.get("retry_policy") or {})}
    message = publish_telling.tell_before(message_of(app, call, now), policy)
    frozen = call.step.sig.frozen if call.step is not None else None
    handle = frozen or (call.options.get("result_cls") or app.AsyncResult)(call.task_id)
    handle.ignored = bool(message.headers.get("ignore_result"))
    return Outgoing(row_of(message, now), message, handle, dict(call.options))


def flush(app: Celery, batch: outgoing.Batch) -> None:
    """Write a batch in one transaction, and tell the handles. Raises as `send`."""
    if batch.items:
        _write(app, batch.items, batch.items[0].task_id)


def goes_alone(app: Celery, options: Mapping[str, Any]) -> bool:
    """Whether calls with these options are written in a transaction of our own."""
    if call_options.connection_of(options) is not None:
        return False
    enqueue = options.get("river_enqueue_in") or app.conf.river_enqueue_in
    return enqueue == "own" or app.runtime.driver.open_transaction() is None


def flush_while_made(app: Celery, batch: outgoing.Batch, chunks: Iterator[list[InsertParams]]) -> None:
    """Write a batch as `flush` does, chunk by chunk while `chunks` fills it, where the database can do that.

    For a batch that has its first calls, of which `goes_alone` is true.
    """
    items = batch.items
    rows = MadeWhileWritten(chunks, lambda: [item.row for item in items])
    _attach(items, _insert(app, rows, items[0].task_id, items[0].options))
    publish_telling.tell_after_all(items)


def write_row(app: Celery, row: InsertParams, handle: Any, enqueue: Enqueue) -> None:
    """Write the row of one call that nobody but us looks at, and tell its handle; the id is a fresh one."""
    inserted = _inserted(app, Rows([row]), lambda: PublishPolicy.of(app.conf, None, None), enqueue, handle.id)
    handle.attach(inserted.row_ids[0] if inserted.row_ids else None, inserted.joined)


def _write(app: Celery, items: Sequence[ToWrite], own_id: str | None) -> None:
    _attach(items, _insert(app, Rows([item.row for item in items]), own_id, items[0].options))


def _attach(items: Sequence[ToWrite], inserted: Inserted) -> None:
    row_ids = inserted.row_ids or [None] * len(items)
    for item, row_id in zip(items, row_ids, strict=True):
        item.handle.attach(row_id, inserted.joined)
    publish_telling.tell_after_all(items)


def message_of(app: Celery, call: Call, now: datetime) -> Message:
    """Return the call with everything that settings, task and options say about it."""
    call = replace(call, options=routed(app, call))
    conf, options = app.conf, call.options
    priority = _priority(app, call)
    waits = call.step is not None and call.step.name is not None
    countdown = None if waits else options.get("countdown")
    return Message(
        task_id=call.task_id,
        name=call.name,
        args=() if call.args is None else call.args,
        kwargs={} if call.kwargs is None else call.kwargs,
        queue=checked_queue(app, options),
        serializer=options.get("serializer") or conf.task_serializer,
        compression=options.get("compression") or conf.task_compression,
        eta=eta_text(countdown, options.get("eta"), app.timezone, now),
        priority=river_priority(priority, app.priority_scheme),
        headers=_headers(app, call, priority, now),
        embedded=call.embedded,
        args_repr=options.get("argsrepr"),
        kwargs_repr=options.get("kwargsrepr"),
        group=call.group,
        at_most_once=app.at_most_once(call.task),
        links=call.links or workflow_calls.links(options, call.step),
        metadata=workflow_calls.stamps_metadata(options),
    )


def _priority(app: Celery, call: Call) -> int | None:
    priority: int | None = call.options.get("priority")
    if call.step is not None:
        priority = workflow_calls.priority(app, call.step, priority)
    if priority is None and call.parent is not None and app.conf.task_inherit_parent_priority:
        priority = (call.parent.request.delivery_info or {}).get("priority")
    return app.conf.task_default_priority if priority is None else priority


def _headers(app: Celery, call: Call, priority: int | None, now: datetime) -> dict[str, Any]:
    options = call.options
    headers = {name: options[name] for name in _CALLER_HEADERS if options.get(name)}
    if call.parent is not None:
        request = call.parent.request
        headers.setdefault("root_id", request.root_id or request.id)
        headers.setdefault("parent_id", request.id)
    headers.update(workflow_calls.headers(options, call.step, call.task_id, headers.get("root_id")))
    if headers.get("root_id") == call.task_id:
        del headers["root_id"]
    headers["priority"] = priority
    headers["ignore_result"] = _ignore_result(call, options)
    headers["timelimit"] = _time_limits(options)
    if "expires_in" not in headers:
        headers["expires"] = expires_text(options.get("expires"), app.timezone, now, call.task_id)
    headers["headers"] = _own_headers(options)
    headers.update(call.inherited)
    known = call_options.KNOWN.union(options.get("stamped_headers") or ())
    others = {name: value for name, value in options.items() if name not in known}
    headers["properties"] = others or None
    return headers


def _ignore_result(call: Call, options: Mapping[str, Any]) -> bool | None:
    """Return what the message says: nothing where it would only repeat the task's own default."""
    given = options.get("ignore_result")
    ignored_by_task = call.task is not None and call.task.ignore_result
    return given if given or ignored_by_task else None


def _time_limits(options: Mapping[str, Any]) -> list[Any] | None:
    """Return the limits of a call as the message holds them, the hard one first."""
    limits = [options.get("time_limit"), options.get("soft_time_limit")]
    if not any(limits):
        return None
    for name, limit in zip(("time_limit", "soft_time_limit"), limits, strict=True):
        if limit:
            checked_seconds(name, limit)
    return limits


def _own_headers(options: Mapping[str, Any]) -> Any:
    """Return the headers that the caller gave; raises TypeError for what is no mapping."""
    given = options.get("headers") or None
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"headers must be a mapping, not {given!r}")
    return given


@dataclass(frozen=True, slots=True)
class Inserted:
    """The ids of rows where they are known yet, and whose transaction they are in where not our own.

    There are no ids at all where an earlier try wrote the rows but was not heard of.
    """

    row_ids: list[int | None]
    joined: Any


def _insert(
    app: Celery, rows: Rows | MadeWhileWritten, own_id: str | None, options: Mapping[str, Any]
) -> Inserted:
    connection = call_options.connection_of(options)
    if connection is not None and hasattr(connection, "transport_options"):
        raise unsupported("a kombu connection", "give connection= a connection to the database")
    policy = PublishPolicy.of(app.conf, options.get("retry"), options.get("retry_policy"))
    given: Enqueue = options.get("river_enqueue_in") or app.conf.river_enqueue_in
    if connection is None:
        return _inserted(app, rows, lambda: policy, given, own_id)
    with river_core.ambient.join(connection):
        return _inserted(app, rows, lambda: policy, "ambient", own_id)


def _inserted(
    app: Celery,
    rows: Rows | MadeWhileWritten,
    policy: Callable[[], PublishPolicy],
    enqueue: Enqueue,
    own_id: str | None,
) -> Inserted:
    runtime = app.runtime
    joined = runtime.driver.open_transaction() if enqueue != "own" else None
    row_ids = publish(runtime, rows, policy, enqueue, own_id, borrowed=joined is not None)
    return Inserted([row_id or None for row_id in row_ids], joined)
