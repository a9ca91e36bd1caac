"""From a call to the row that stores it: `Message` is the call, `row_of` makes the row.

Headers hold only what differs from its default, since every character is stored with every task.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from kombu.exceptions import EncodeError

from river_compat import codec, envelope
from river_compat.celery.timing import due
from river_compat.envelope import KIND, TaskCall
from river_compat.shortened import short_repr
from river_core.insert import MAX_ATTEMPTS_DEFAULT, InsertParams
from river_core.job import JobState
from river_core.links import Links

FRAMEWORK = "celery"
AT_MOST_ONCE_ATTEMPTS = 1


@dataclass(frozen=True, slots=True)
class Embedded:
    """What travels with the arguments in the body (protocol 2)."""

    callbacks: Any = None
    errbacks: Any = None
    chain: Any = None
    chord: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Return the third element of the body."""
        return {
            "callbacks": self.callbacks,
            "errbacks": self.errbacks,
            "chain": self.chain,
            "chord": self.chord,
        }


@dataclass(frozen=True, slots=True)
class Message:
    """One call of a task, complete: everything that the row needs."""

    task_id: str
    name: str
    args: Any
    kwargs: Mapping[str, Any]
    queue: str
    serializer: str = "json"
    compression: str | None = None
    eta: str | None = None
    priority: int = 1
    headers: Mapping[str, Any] = field(default_factory=dict)
    embedded: Embedded = field(default_factory=Embedded)
    args_repr: str | None = None
    kwargs_repr: str | None = None
    group: str | None = None
    at_most_once: bool = False
    links: Links | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def row_of(message: Message, now: datetime) -> InsertParams:
    """Return the row of a call.

    Raises TypeError for arguments of the wrong kind, kombu's EncodeError for what cannot be
    serialized or compressed, ValidationError for an id or name that cannot be stored.
    """
    if not isinstance(message.args, list | tuple):
        raise TypeError("task args must be a list or tuple")
    if not isinstance(message.kwargs, Mapping):
        raise TypeError("task keyword arguments must be a mapping")
    state, scheduled_at = due(message.eta, now)
    if message.links is not None and message.links.name is not None:
        state = JobState.PENDING
    return InsertParams(
        kind=KIND,
        encoded_args=envelope.encode(call_of(message)),
        queue=message.queue,
        state=state,
        priority=message.priority,
        max_attempts=AT_MOST_ONCE_ATTEMPTS if message.at_most_once else MAX_ATTEMPTS_DEFAULT,
        scheduled_at=scheduled_at,
        encoded_metadata=json.dumps(message.metadata, default=str) if message.metadata else "{}",
        links=message.links,
    )


def call_of(message: Message) -> TaskCall:
    """Return a message as the envelope holds it; raises as `row_of`."""
    body = body_of(message, message.args, message.kwargs)
    args_repr, kwargs_repr = message.args_repr, message.kwargs_repr
    return TaskCall(
        id=message.task_id,
        framework=FRAMEWORK,
        name=message.name,
        content_type=body.content_type,
        content_encoding=body.content_encoding,
        body=body.text,
        headers=_headers_text(message, body.compression),
        args_repr=short_repr(message.args) if args_repr is None else args_repr,
        kwargs_repr=short_repr(message.kwargs) if kwargs_repr is None else kwargs_repr,
        group=message.group,
    )


def body_of(message: Message, args: Any, kwargs: Mapping[str, Any]) -> codec.Encoded:
    """Return the body of a message with these arguments; raises kombu's EncodeError."""
    content = (args, kwargs, message.embedded.to_dict())
    return codec.compressed(codec.encode(content, message.serializer), message.compression)


def _headers_text(message: Message, compression: str) -> str:
    headers = {name: value for name, value in message.headers.items() if value is not None}
    if message.eta is not None:
        headers["eta"] = message.eta
    if compression:
        headers["compression"] = compression
    headers.setdefault("origin", origin(os.getpid()))
    try:
        return codec.encode(headers, "json").text
    except EncodeError as error:
        raise EncodeError(f"the headers of task {message.name} are no JSON: {error}") from error


@lru_cache(maxsize=4)
def origin(pid: int) -> str:
    """Return the name of a sending process: `gen<pid>@<host>`."""
    return f"gen{pid}@{socket.gethostname()}"
