"""Which queue a message of an exchange and a routing key reaches: AMQP's rules, applied when a task is sent.

There is no exchange here, a row has one queue. So the bindings of `task_queues` are followed at once,
and what would reach no queue or several is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from river_compat.celery.exceptions import unsupported

ONE_QUEUE_TYPES = ("direct", "topic")
_LOOP = "a row has one queue; send the task once for each queue"


def name_of(value: Any) -> Any:
    """Return the name of a queue or exchange given as text or as kombu's object."""
    return getattr(value, "name", value)


def refuse_several(queue: Any) -> None:
    """Raise UnsupportedFeature for a queue that gets copies, or is chosen by headers."""
    exchange = getattr(queue, "exchange", None)
    kind = getattr(exchange, "type", None) or "direct"
    if type(queue).__name__ == "Broadcast" or kind not in ONE_QUEUE_TYPES:
        raise unsupported(f"queue {name_of(queue)!r} with an exchange of type {kind!r}", _LOOP)


@lru_cache(maxsize=1024)
def _pattern(binding: str) -> re.Pattern[str]:
    """Return a topic binding as a pattern: `*` is one word, `#` any number of them."""
    text = ""
    for word in binding.split("."):
        if word == "#":
            text += r"(?:\.[^.]+)*"
        else:
            text += r"\." + (r"[^.]+" if word == "*" else re.escape(word))
    return re.compile(text)


def binds(queue: Any, exchange: str | None, routing_key: str) -> bool:
    """Whether a message reaches a queue; an exchange of None or an empty name stands for any."""
    own = getattr(queue, "exchange", None)
    if exchange and exchange not in (name_of(own), None) and name_of(own):
        return False
    binding = getattr(queue, "routing_key", None) or name_of(queue)
    if getattr(own, "type", None) == "topic":
        return _pattern(binding).fullmatch("." + routing_key) is not None
    return bool(binding == routing_key)


def queue_of_binding(queues: Iterable[Any], exchange: Any, routing_key: Any) -> str:
    """Return the one queue that a message reaches.

    Raises UnsupportedFeature where it would reach none or several.
    """
    exchange_name, key = name_of(exchange), str(routing_key or "")
    declared = list(queues)
    found = [name_of(queue) for queue in declared if binds(queue, exchange_name, key)]
    found = found or [name for queue in declared if (name := name_of(queue)) == key and not exchange_name]
    if len(found) == 1:
        return str(found[0])
    what = f"exchange={exchange_name!r}, routing_key={routing_key!r}"
    if not found:
        raise unsupported(f"{what}, to which no queue of task_queues is bound", "give queue= its name")
    raise unsupported(f"{what}, which reaches the queues {', '.join(map(repr, found))}", _LOOP)
