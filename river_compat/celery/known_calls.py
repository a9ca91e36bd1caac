"""Calls of a task that are given nothing but arguments, as `delay` gives them: made after an earlier one.

What such a call says about itself depends on the task and the settings alone. It is worked out once, the
ordinary way, and again when anything has changed of what it was worked out from.

Whatever somebody else has a say in goes the ordinary way, call by call, as in `canvas.alike`; so does what
depends on the moment, or on the running task that sends it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from river_compat import codec
from river_compat.celery import _state, outgoing, signals
from river_compat.celery.message import row_of
from river_compat.celery.own_ways import is_own
from river_compat.celery.row_text import RowText
from river_compat.celery.sending import TASK_OPTIONS, Call, message_of, write_row
from river_compat.task_ids import fresh_id
from river_core import clock
from river_core.client import Enqueue
from river_core.insert import InsertParams

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task
    from river_compat.celery.async_result import AsyncResult

_NEVER_KNOWN = ("expires", "compression", "exchange", "routing_key")
"""Attributes with which a call depends on the moment, or on what may change unseen."""
_SOMETIMES_THERE = ("exchange", "routing_key", "delivery_mode")
_facts_of_task = attrgetter(
    *(name for name in TASK_OPTIONS if name not in _SOMETIMES_THERE),
    "name",
    "ignore_result",
    "acks_late_of_task",
    "shadow_name",
    "_dump_arguments",
)


@dataclass(frozen=True, slots=True)
class KnownCall:
    """What all such calls of a task have in common, for as long as `facts` and `settings` are the same."""

    facts: tuple[Any, ...]
    settings: Any
    routes: Any
    row: InsertParams
    text: RowText | None
    """None for a task whose calls go the ordinary way."""
    ignored: bool
    enqueue: Enqueue


def sent(task: Task[..., Any], args: Any, kwargs: Any) -> AsyncResult[Any] | None:
    """Send a call as an earlier one was; None, with nothing sent, where the ordinary way must be gone.

    Raises as `sending.send`.
    """
    known, app = task.known_call, task.app
    if known is None or known.text is None or known.settings is not app.conf.kept or known.routes:
        return None
    if type(args) is not tuple or type(kwargs) is not dict or _is_heard() or not is_own(app.send_task):
        return None
    if _state.get_current_worker_frame() is not None or outgoing.current() is not None:
        return None
    if known.facts != _facts(task, known.text.message.serializer):
        return None
    task_id, like = fresh_id(), known.row
    text = known.text.of_call(task_id, None, args, kwargs)
    row = InsertParams(like.kind, text, like.queue, like.state, like.priority, like.max_attempts)
    handle: AsyncResult[Any] = task.AsyncResult(task_id)
    handle.ignored = known.ignored
    write_row(app, row, handle, known.enqueue)
    return handle


def learn(task: Task[..., Any], options: Mapping[str, Any]) -> None:
    """Remember what a call said that was given nothing but arguments, unless that is known already."""
    app, known = task.app, task.known_call
    settings = app.conf.kept
    if settings is None or not nobody_looks(app):
        return
    facts = _facts(task, task.serializer or app.conf.task_serializer)
    if known is not None and known.settings is settings and known.facts == facts:
        return
    now = clock.now()
    message = message_of(app, Call(fresh_id(), task.name, (), {}, task, options), now)
    row = row_of(message, now)
    text = RowText.of(message) if _goes_our_way(task) else None
    if text is not None and text.of_call(message.task_id, None, (), {}) != row.encoded_args:
        text = None
    ignored = bool(message.headers.get("ignore_result"))
    enqueue: Any = task.river_enqueue_in or app.conf.river_enqueue_in
    task.known_call = KnownCall(facts, settings, app.conf.task_routes, row, text, ignored, enqueue)


def nobody_looks(app: Any) -> bool:
    """Whether nobody but us has a say in how the calls of an application are sent."""
    conf = app.conf
    return not (_is_heard() or conf.task_routes or conf.task_always_eager) and is_own(app.send_task)


def _is_heard() -> bool:
    told = signals.before_task_publish.receivers or signals.after_task_publish.receivers
    return bool(told or signals.task_sent.receivers)


def _goes_our_way(task: Task[..., Any]) -> bool:
    conf = task.app.conf
    return (
        task._dump_arguments is None
        and is_own(task.shadow_name)
        and not any(getattr(task, name, None) for name in _NEVER_KNOWN)
        and conf.task_compression is None
        and conf.task_create_missing_queues
    )


def _facts(task: Task[..., Any], serializer: str) -> tuple[Any, ...]:
    """Return what such calls depend on beside the settings; the process is named in each."""
    others = [getattr(task, name, None) for name in _SOMETIMES_THERE]
    return (*_facts_of_task(task), *others, codec.encoder_of(serializer), os.getpid())
