"""The signals around the sending of a call: `before_task_publish`, `after_task_publish`, `task_sent`.

Receivers see a message of protocol 2. What they change in place, its headers above all, is what is stored.
A row that joins an open transaction is told as sent when it is inserted: the commit is still to come.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from river_compat.celery import signals
from river_compat.celery.message import Embedded, Message, origin
from river_compat.shortened import short_repr

if TYPE_CHECKING:
    from river_compat.celery.outgoing import ToWrite

STANDARD: dict[str, Any] = {
    "lang": "py",
    "task": None,
    "id": None,
    "shadow": None,
    "eta": None,
    "expires": None,
    "group": None,
    "group_index": None,
    "retries": 0,
    "timelimit": [None, None],
    "root_id": None,
    "parent_id": None,
    "argsrepr": None,
    "kwargsrepr": None,
    "origin": None,
    "ignore_result": False,
    "replaced_task_nesting": 0,
    "stamped_headers": None,
    "stamps": {},
}
_OF_MESSAGE = {
    "task": "name",
    "id": "task_id",
    "eta": "eta",
    "group": "group",
    "argsrepr": "args_repr",
    "kwargsrepr": "kwargs_repr",
}
_OF_PROPERTIES = ("correlation_id", "reply_to")


@dataclass(frozen=True, slots=True)
class Publication:
    """A call as receivers see it. The dicts are theirs to change."""

    name: str
    queue: str
    body: tuple[Any, Any, dict[str, Any]]
    headers: dict[str, Any]
    properties: dict[str, Any]


def tell_before(message: Message, retry_policy: Mapping[str, Any] | None = None) -> Message:
    """Send `before_task_publish` and return the message as receivers leave it."""
    if not signals.before_task_publish.receivers:
        return message
    shown = _publication(message)
    before = {**shown.headers}
    signals.before_task_publish.send(
        message.name,
        body=shown.body,
        exchange="",
        routing_key=message.queue,
        headers=shown.headers,
        properties=shown.properties,
        declare=[],
        retry_policy=retry_policy,
    )
    return _taken_back(message, before, shown)


def tell_after_all(items: Iterable[ToWrite]) -> None:
    """Send `after_task_publish` and `task_sent` for each of these calls."""
    if signals.after_task_publish.receivers or signals.task_sent.receivers:
        for item in items:
            tell_after(item.message)


def tell_after(message: Message) -> None:
    """Send `after_task_publish` and `task_sent` for one call."""
    if not signals.after_task_publish.receivers and not signals.task_sent.receivers:
        return
    shown = _publication(message)
    signals.after_task_publish.send(
        message.name, body=shown.body, headers=shown.headers, exchange="", routing_key=message.queue
    )
    args, kwargs, _ = shown.body
    signals.task_sent.send(
        message.name,
        task_id=message.task_id,
        task=message.name,
        args=args,
        kwargs=kwargs,
        eta=message.eta,
        taskset=message.group,
    )


def _publication(message: Message) -> Publication:
    stored = message.headers
    given = {name: stored[name] for name in STANDARD if stored.get(name) is not None}
    facts = {name: getattr(message, field) for name, field in _OF_MESSAGE.items()}
    headers = {**STANDARD, "stamps": {}, **given, **facts, **(stored.get("headers") or {})}
    headers["root_id"] = headers["root_id"] or message.task_id
    headers["origin"] = headers["origin"] or origin(os.getpid())
    for name, value in (("argsrepr", message.args), ("kwargsrepr", message.kwargs)):
        headers[name] = short_repr(value) if headers[name] is None else headers[name]
    properties = {"correlation_id": message.task_id, "reply_to": stored.get("reply_to") or ""}
    properties |= stored.get("properties") or {}
    body = (message.args, message.kwargs, message.embedded.to_dict())
    return Publication(message.name, message.queue, body, headers, properties)


def _taken_back(message: Message, before: Mapping[str, Any], shown: Publication) -> Message:
    """Return the message with what receivers have changed."""
    changed = {
        name: value for name, value in shown.headers.items() if name in STANDARD and value != before.get(name)
    }
    fields = {_OF_MESSAGE[name]: changed.pop(name) for name in list(changed) if name in _OF_MESSAGE}
    custom = {name: value for name, value in shown.headers.items() if name not in STANDARD}
    others = {name: value for name, value in shown.properties.items() if name not in _OF_PROPERTIES}
    headers = {**message.headers, **changed, "headers": custom or None, "properties": others or None}
    if shown.properties.get("reply_to"):
        headers["reply_to"] = shown.properties["reply_to"]
    return replace(message, headers=headers, embedded=Embedded(**shown.body[2]), **fields)
