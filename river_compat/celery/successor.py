"""The next run of a task that is retried, and how a running task comes to schedule it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

from river_compat.celery import options as call_options
from river_compat.celery import publish_telling
from river_compat.celery.exceptions import Reject, Retry
from river_compat.celery.message import Embedded, row_of
from river_compat.celery.request import Context
from river_compat.celery.sending import Call, message_of
from river_compat.celery.waiting_step import FOLLOWS
from river_core import clock
from river_core.insert import InsertParams
from river_core.links import FEEDS, Feed, Links, feeds_of

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task
    from river_compat.celery.eager_result import EagerResult

SCHEDULED = "_successors"
_INHERITED = (
    "root_id",
    "parent_id",
    "shadow",
    "expires",
    "headers",
    "reply_to",
    "replaced_task_nesting",
    "origin",
    "time_limit",
    "soft_time_limit",
)
_OF_TASK = ("serializer", "compression")
"""What a retry takes from its task again, as Celery's does: a message does not say it of itself."""
_KEPT = ("chord", "group_index", FOLLOWS)


@dataclass(frozen=True, slots=True)
class Successor:
    """The next run: what `Retry.sig` holds. It has the id of the run that it follows."""

    task: Task[..., Any]
    task_id: str
    args: Any
    kwargs: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    embedded: Embedded = field(default_factory=Embedded)
    group: str | None = None
    links: Links | None = None
    inherited: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        task: Task[..., Any],
        request: Context,
        args: Any,
        kwargs: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> Successor:
        """Return the successor of a request; it inherits what `options` do not say.

        Raises UnsupportedFeature or TypeError for options that a call would not take.
        """
        call_options.refuse(options)
        inherited = {name: getattr(request, name) for name in _INHERITED}
        # In Celery the task itself sends its retry, and so becomes the parent of one that has none.
        inherited["parent_id"] = request.parent_id or request.id
        inherited["ignore_result"] = request.effective_ignore_result(task.ignore_result) or None
        delivery = request.delivery_info or {}
        inherited["priority"] = delivery.get("priority")
        inherited["queue"] = delivery.get("routing_key")
        inherited.update(request.stamps or {}, stamped_headers=request.stamped_headers)
        embedded = Embedded(request.callbacks, request.errbacks)
        merged = {**inherited, **{name: value for name, value in options.items() if value is not None}}
        kept = {name: request.get(name) for name in _KEPT}
        return cls(
            task, request.id, tuple(args), kwargs, merged, embedded, request.group, links_of(request), kept
        )

    def row(self, now: datetime) -> InsertParams:
        """Return the row of the next run; raises what sending a call raises for bad arguments."""
        call = Call(
            task_id=self.task_id,
            name=self.task.name,
            args=self.args,
            kwargs=self.kwargs,
            task=self.task,
            options={**{name: getattr(self.task, name) for name in _OF_TASK}, **self.options},
            embedded=self.embedded,
            group=self.group,
            links=self.links,
            inherited=self.inherited,
        )
        message = publish_telling.tell_before(message_of(self.task.app, call, now))
        row = row_of(message, now)
        publish_telling.tell_after(message)
        return row

    def apply(self, retries: int) -> EagerResult[Any]:
        """Run it here and now."""
        return self.task.apply(self.args, self.kwargs, task_id=self.task_id, retries=retries, **self._eager())

    def _eager(self) -> dict[str, Any]:
        kept = ("ignore_result", "headers", "priority")
        return {name: self.options[name] for name in kept if self.options.get(name) is not None}


class _Sending:
    """A next run on its way through `apply_async`, which applications and libraries override."""

    def __init__(self, next_run: Successor) -> None:
        self.next_run = next_run
        self.rows: list[InsertParams] = []

    def sent(self, args: Any, kwargs: Any, options: Mapping[str, Any]) -> Any:
        """Take the call as it arrives at the end of that way; returns its handle."""
        run = replace(self.next_run, args=tuple(args or ()), kwargs=kwargs or {}, options=options)
        self.rows.append(run.row(clock.now()))
        return run.task.app.AsyncResult(run.task_id)


_sending: ContextVar[_Sending | None] = ContextVar("river_celery_retry", default=None)


def successor_of(task_id: str | None) -> _Sending | None:
    """Return the next run that is just sent under this id; None for any other call."""
    sending = _sending.get()
    return sending if sending is not None and sending.next_run.task_id == task_id else None


def _sent_rows(next_run: Successor) -> list[InsertParams]:
    """Send the next run by its task's `apply_async` and return the rows that came of it."""
    sending = _Sending(next_run)
    token = _sending.set(sending)
    try:
        options = {name: value for name, value in next_run.options.items() if name != "task_id"}
        next_run.task.apply_async(next_run.args, next_run.kwargs, task_id=next_run.task_id, **options)
    finally:
        _sending.reset(token)
    return sending.rows


def schedule(
    next_run: Successor, exc: BaseException | None, when: float | datetime | str | None, throw: bool
) -> Retry:
    """Let the worker write the next run with the end of this one; raise or return the Retry.

    Raises Reject when the next run cannot be stored.
    """
    request = next_run.task.request
    retry = Retry(exc=exc, when=when, is_eager=request.is_eager, sig=next_run)  # type: ignore[arg-type]  # text too
    if not request.is_eager:
        try:
            rows = _sent_rows(next_run)
        except Exception as error:
            raise Reject(error, requeue=False) from error
        request.__dict__.setdefault(SCHEDULED, []).extend(rows)
    if throw:
        raise retry
    return retry


def links_of(request: Context) -> Links | None:
    """Return the links by which another row feeds what the row of a request feeds; None for none."""
    row = request.__dict__.get("_row")
    feeds = feeds_of(row.metadata) if row is not None and FEEDS in row.encoded_metadata else ()
    return Links(feeds=tuple(Feed(target, index) for target, index in feeds)) if feeds else None


def scheduled_rows(request: Context) -> list[InsertParams]:
    """Return the rows that a request's task has scheduled so far."""
    rows: list[InsertParams] = request.__dict__.get(SCHEDULED, [])
    return rows


def raise_with_context(exc: BaseException | None) -> NoReturn:
    """Raise `exc`, or a Retry without one, because of the exception that is being handled, if any."""
    error = exc or Retry("Task can be retried")
    current = sys.exc_info()[1]
    if current is None or current is error:
        raise error
    raise error from current
