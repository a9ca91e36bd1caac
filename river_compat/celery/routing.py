"""Which queue a call goes to: the call's own options, its task's, `task_routes`, the default, in this order.

Everything of AMQP that names one queue is followed; what names none or several is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from river_compat.celery.app.topics import binds, name_of, queue_of_binding, refuse_several
from river_compat.celery.exceptions import QueueNotFound, unsupported
from river_compat.celery.utils.collections import lpmerge

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.sending import Call

QUEUE_CHARACTERS = range(1, 128)


def routed(app: Celery, call: Call) -> Mapping[str, Any]:
    """Return a call's options with those that a route adds; what the call gives wins, None gives nothing."""
    options = call.options
    router = options.get("router")
    if router is None:
        if not app.conf.task_routes:
            return options
        router = app.amqp.router
    answer = router.lookup(call.name, call.args, call.kwargs or {}, options, call.task)
    return options if answer is None else lpmerge(answer, options)


def checked_queue(app: Celery, options: Mapping[str, Any]) -> str:
    """Return the name of the queue that options stand for.

    Raises QueueNotFound for one that is not in `task_queues` where missing ones are not made,
    UnsupportedFeature for an exchange and a key that lead elsewhere, ValueError for a name too long.
    """
    queue = options.get("queue")
    exchange, key = options.get("exchange"), options.get("routing_key")
    if queue is None:
        name = _queue_of_message(app, exchange, key)
    else:
        refuse_several(queue)
        name = str(name_of(queue))
        if exchange or key:
            _refuse_elsewhere(app, queue, name, exchange, key)
    if len(name) not in QUEUE_CHARACTERS:
        raise ValueError(f"a queue's name has 1 to 127 characters, not {len(name)}: {name[:140]!r}")
    if not app.conf.task_create_missing_queues and name not in app.queue_names():
        raise QueueNotFound(f"queue {name!r} is not in task_queues, and task_create_missing_queues is off")
    return name


def _queue_of_message(app: Celery, exchange: Any, key: Any) -> str:
    default: str = app.conf.task_default_queue
    if not exchange and not key:
        return default
    ours = {default, app.conf.task_default_exchange, app.conf.task_default_routing_key, None, ""}
    if name_of(exchange) in ours and key in ours:
        return default
    queues = app.amqp.queues
    if name_of(exchange) == key and key not in queues and app.conf.task_create_missing_queues:
        return str(key)  # so is a queue bound that is made because it is missing
    return queue_of_binding(queues.values(), exchange, key)


def _refuse_elsewhere(app: Celery, queue: Any, name: str, exchange: Any, key: Any) -> None:
    """Take an exchange and a key that only repeat the queue, or that lead to it."""
    if name_of(exchange) in (name, None, "") and key in (name, None, ""):
        return
    declared = queue if hasattr(queue, "routing_key") else dict.get(app.amqp.queues, name)
    own_key = getattr(declared, "routing_key", None)
    if declared is None or not binds(declared, name_of(exchange), str(key or own_key or name)):
        raise unsupported(
            f"exchange={name_of(exchange)!r}, routing_key={key!r} beside queue={name!r}",
            "give the queue's name as queue= alone",
        )
