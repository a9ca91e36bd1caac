"""Celery's events: the names that programs import.

A worker sends no events here: what monitors want to know is in the rows. `State` and its parts work on
events that a program makes or has stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from river_compat.celery.exceptions import unsupported
from river_compat.celery.refused_names import refusing

__all__ = ["Event", "EventDispatcher", "EventReceiver", "get_exchange", "group_from"]

WAY_OUT = (
    "workers send none: read the rows of river_job, with River UI or SQL, ask the workers by "
    "app.control.inspect(), or add the plugin of river_core.otel"
)


def Event(  # noqa: N802 - the name is Celery's
    type: str,  # noqa: A002
    _fields: Mapping[str, Any] | None = None,
    __dict__: Callable[..., dict[str, Any]] = dict,
    __now__: Callable[[], float] = time.time,
    **fields: Any,
) -> dict[str, Any]:
    """Return an event: its type, its fields, and the time, in seconds, unless that is one of them."""
    event = __dict__(_fields or {}, **fields, type=type)
    event.setdefault("timestamp", __now__())
    return event


def group_from(type: str) -> str:  # noqa: A002
    """Return the group of an event: `task` of `task-sent`."""
    return type.split("-", 1)[0]


class EventReceiver:
    """Refused: there are no events to receive."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Raise UnsupportedFeature."""
        raise unsupported("an event receiver", WAY_OUT)


class EventDispatcher:
    """Refused: nobody would hear the events."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Raise UnsupportedFeature."""
        raise unsupported("an event dispatcher", WAY_OUT)


def get_exchange(*_args: Any, **_kwargs: Any) -> NoReturn:
    """Refuse: there is no broker and no exchange."""
    raise unsupported("the exchange of events", WAY_OUT)


if not TYPE_CHECKING:
    __getattr__, _ = refusing(__name__)
