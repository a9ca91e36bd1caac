"""The keyword arguments of `apply_async`: which are known, which are refused, which are misspelled."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from river_compat.celery.exceptions import unsupported

HONOURED = frozenset(
    {
        "add_to_parent",
        "argsrepr",
        "chain",
        "chord",
        "compression",
        "connection",
        "countdown",
        "eta",
        "expires",
        "group_id",
        "group_index",
        "headers",
        "ignore_result",
        "kwargsrepr",
        "link",
        "link_error",
        "origin",
        "parent_id",
        "priority",
        "queue",
        "replaced_task_nesting",
        "reply_to",
        "result_cls",
        "retries",
        "retry",
        "retry_policy",
        "river_enqueue_in",
        "root_id",
        "route_name",
        "router",
        "serializer",
        "shadow",
        "soft_time_limit",
        "stamped_headers",
        "task_id",
        "time_limit",
    }
)
NO_EFFECT = frozenset(
    {
        "confirm_timeout",
        "declare",
        "delivery_mode",
        "exchange",
        "exchange_type",
        "expiration",
        "immediate",
        "mandatory",
        "routing_key",
        "timeout",
    }
)
_NO_BROKER = "there is no broker; give connection= a psycopg or sqlite3 connection to join its transaction"
REFUSED: dict[str, str] = {
    "producer": _NO_BROKER,
    "publisher": _NO_BROKER,
}
KNOWN = frozenset({*HONOURED, *NO_EFFECT, *REFUSED, "args", "kwargs"})


def refuse(options: Mapping[str, Any]) -> None:
    """Raise for the first option that is not supported, or that is a slip of the pen of a known one.

    None, an empty list and an empty tuple count as not given.
    """
    stamps = options.get("stamped_headers") or ()
    for name, value in options.items():
        if name in REFUSED and not _is_nothing(value):
            raise unsupported(f"the option {name}= of a call", REFUSED[name])
        if name not in KNOWN and name not in stamps:
            _refuse_misspelled(name)
    _refuse_other_exchange(options)


def connection_of(options: Mapping[str, Any]) -> Any:
    """Return the connection that a call is to join, None for none.

    `app.connection()`, which Celery's callers give by habit, stands for the application's database and has no
    transaction to join.
    """
    connection = options.get("connection")
    return None if getattr(connection, "stands_for_database", None) is True else connection


def _is_nothing(value: Any) -> bool:
    return value is None or value in ([], ())


def _refuse_misspelled(name: str) -> None:
    for known in get_close_matches(name, KNOWN, 3, 0.7):
        if _one_letter_apart(name, known):
            raise TypeError(f"apply_async() takes no option {name!r}; did you mean {known!r}?")


def _one_letter_apart(left: str, right: str) -> bool:
    """Whether one insertion, deletion, replacement or swap of neighbours turns one into the other."""
    if len(left) > len(right):
        left, right = right, left
    start = 0
    while start < len(left) and left[start] == right[start]:
        start += 1
    rest_left, rest_right = left[start:], right[start:]
    if len(left) < len(right):
        return rest_right[1:] == rest_left
    swapped = rest_left[1:2] + rest_left[:1] + rest_left[2:]
    return rest_left[1:] == rest_right[1:] or swapped == rest_right


def _refuse_other_exchange(options: Mapping[str, Any]) -> None:
    kind = options.get("exchange_type") or getattr(options.get("exchange"), "type", None)
    if kind not in (None, "", "direct", "topic"):
        raise unsupported(f"exchange_type={kind!r}", "a row has one queue; send the task once for each queue")


def queue_name(queue: Any) -> str | None:
    """Return the name of a queue given as text or as a kombu Queue."""
    name = getattr(queue, "name", queue)
    return None if name is None else str(name)
