"""`app.control`: commands to workers, and revokes, which need none (`celery.app.control`)."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from river_compat.celery import durable_commands
from river_compat.celery.app.inspecting import Inspect, flatten_reply
from river_compat.celery.app.mailbox import Mailbox
from river_compat.celery.app.purging import TaskConsumer
from river_compat.celery.exceptions import ImproperlyConfigured, unsupported
from river_compat.celery.refused_names import refusing

__all__ = ["TERM_SIGNAME", "Control", "Inspect", "flatten_reply"]

TERM_SIGNAME = "SIGTERM"
_PROFILE = "profile the worker's process from outside, for example with py-spy or memray"
REFUSED: dict[str, str] = {
    "election": "there is nothing to elect: the database decides who does what",
    "memdump": _PROFILE,
    "objgraph": _PROFILE,
}


class Control:
    """Sends commands to the workers of an application. Replies are lists of `{worker: {"ok": ...}}`.

    Every command takes `destination`, `timeout` in seconds, `reply`, `limit`, `callback`, `pattern` and
    `matcher`, as `broadcast`. Revokes, rate limits and time limits are kept in the database, so that workers
    that are not up yet obey them.
    """

    Mailbox = Mailbox

    def __init__(self, app: Any = None) -> None:
        """Belong to an application; raises ImproperlyConfigured for queue options that exclude each other."""
        self.app = app
        conf = app.conf
        if conf.get("control_queue_durable", False) and conf.get("control_queue_exclusive", True):
            raise ImproperlyConfigured(
                "control_queue_durable and control_queue_exclusive cannot both be set; both have no effect "
                "here, so leave them out"
            )
        self.mailbox: Any = self.Mailbox(
            app,
            conf.get("control_exchange", "celery"),
            accept=conf.accept_content,
            serializer=conf.task_serializer,
            queue_durable=conf.get("control_queue_durable", False),
            queue_exclusive=conf.get("control_queue_exclusive", True),
        )
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_in_child(weakref.ref(self)))

    def _after_fork(self) -> None:
        self.mailbox.after_fork()

    @property
    def inspect(self) -> Any:
        """The class of `Inspect` that belongs to the application."""
        return type("Inspect", (Inspect,), {"app": self.app, "__module__": Inspect.__module__})

    # -- tasks

    def revoke(
        self,
        task_id: Any,
        destination: Any = None,
        terminate: bool = False,
        signal: str | None = TERM_SIGNAME,
        **kwargs: Any,
    ) -> Any:
        """Let no worker run these tasks, by id or list of ids; `terminate` also ends runs that have begun.

        In the database, at once and for good, in the transaction around the call: no worker has to be up. An
        id that nobody has sent yet is remembered for three hours.
        """
        arguments = {"task_id": task_id, "terminate": terminate, "signal": signal}
        return self.broadcast("revoke", destination=destination, arguments=arguments, **kwargs)

    def revoke_by_stamped_headers(
        self,
        headers: Mapping[str, Any],
        destination: Any = None,
        terminate: bool = False,
        signal: str | None = TERM_SIGNAME,
        **kwargs: Any,
    ) -> Any:
        """Do the same for tasks that have any of these stamps, a value or a list of values for each name."""
        arguments = {"headers": headers, "terminate": terminate, "signal": signal}
        return self.broadcast(
            "revoke_by_stamped_headers", destination=destination, arguments=arguments, **kwargs
        )

    def terminate(
        self, task_id: Any, destination: Any = None, signal: str | None = TERM_SIGNAME, **kwargs: Any
    ) -> Any:
        """Revoke with `terminate`."""
        return self.revoke(task_id, destination=destination, terminate=True, signal=signal, **kwargs)

    def purge(self, connection: Any = None) -> int:
        """Delete the waiting tasks of the application's queues; returns how many there were."""
        replaced = getattr(getattr(self.app, "amqp", None), "TaskConsumer", None)
        deleted: int = (
            replaced(connection).purge() if replaced is not None else TaskConsumer(self.app).purge()
        )
        return deleted

    discard_all = purge

    def rate_limit(self, task_name: str, rate_limit: Any, destination: Any = None, **kwargs: Any) -> Any:
        """Set how often a task may start, `10/m` for example; 0 or None is without limit.

        Without a destination it holds for workers that start later, too, until the rate `default` gives the
        task the limit of its code back. Kept only where this application or a worker knows the task.
        """
        arguments = {"task_name": task_name, "rate_limit": rate_limit}
        return self.broadcast("rate_limit", destination=destination, arguments=arguments, **kwargs)

    def time_limit(
        self, task_name: str, soft: Any = None, hard: Any = None, destination: Any = None, **kwargs: Any
    ) -> Any:
        """Set how many seconds a task may run; it counts for the next runs."""
        arguments = {"task_name": task_name, "hard": hard, "soft": soft}
        return self.broadcast("time_limit", arguments=arguments, destination=destination, **kwargs)

    # -- workers

    def ping(self, destination: Any = None, timeout: float = 1.0, **kwargs: Any) -> Any:
        """Ask workers for `pong`."""
        return self.broadcast(
            "ping", reply=True, arguments={}, destination=destination, timeout=timeout, **kwargs
        )

    def shutdown(self, destination: Any = None, **kwargs: Any) -> Any:
        """Stop workers as SIGTERM does: what runs may finish."""
        return self.broadcast("shutdown", arguments={}, destination=destination, **kwargs)

    def add_consumer(
        self,
        queue: str,
        exchange: str | None = None,
        exchange_type: str = "direct",
        routing_key: str | None = None,
        options: Mapping[str, Any] | None = None,
        destination: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Let workers work one more queue, until they stop; only its name counts."""
        arguments = {
            "queue": queue,
            "exchange": exchange,
            "exchange_type": exchange_type,
            "routing_key": routing_key,
            **(options or {}),
        }
        return self.broadcast("add_consumer", destination=destination, arguments=arguments, **kwargs)

    def cancel_consumer(self, queue: str, destination: Any = None, **kwargs: Any) -> Any:
        """Let workers claim no more for a queue; its running tasks finish."""
        return self.broadcast(
            "cancel_consumer", destination=destination, arguments={"queue": queue}, **kwargs
        )

    def pool_grow(self, n: int = 1, destination: Any = None, **kwargs: Any) -> Any:
        """Let workers run `n` tasks more at once."""
        return self.broadcast("pool_grow", arguments={"n": n}, destination=destination, **kwargs)

    def pool_shrink(self, n: int = 1, destination: Any = None, **kwargs: Any) -> Any:
        """Let workers run `n` tasks fewer at once."""
        return self.broadcast("pool_shrink", arguments={"n": n}, destination=destination, **kwargs)

    def autoscale(self, max: int, min: int, destination: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Set how many tasks workers with `--autoscale` run at once at most, and their least children."""
        arguments = {"max": max, "min": min}
        return self.broadcast("autoscale", arguments=arguments, destination=destination, **kwargs)

    def pool_restart(
        self,
        modules: Sequence[str] | None = None,
        reload: bool = False,
        reloader: Callable[..., Any] | None = None,
        destination: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Ask workers to replace their pool, which they refuse: restart the worker instead."""
        arguments = {"modules": modules, "reload": reload, "reloader": reloader}
        return self.broadcast("pool_restart", arguments=arguments, destination=destination, **kwargs)

    def enable_events(self, destination: Any = None, **kwargs: Any) -> Any:
        """Without effect: workers send no events."""
        return self.broadcast("enable_events", arguments={}, destination=destination, **kwargs)

    def disable_events(self, destination: Any = None, **kwargs: Any) -> Any:
        """Without effect: workers send no events."""
        return self.broadcast("disable_events", arguments={}, destination=destination, **kwargs)

    def heartbeat(self, destination: Any = None, **kwargs: Any) -> Any:
        """Without effect: a worker's lock shows at any time that it lives."""
        return self.broadcast("heartbeat", arguments={}, destination=destination, **kwargs)

    def election(
        self,
        id: str,  # noqa: A002
        topic: str,
        action: Any = None,
        connection: Any = None,
    ) -> Any:
        """Refuse: nobody has to be elected."""
        arguments = {"id": id, "topic": topic, "action": action}
        return self.broadcast("election", connection=connection, destination=None, arguments=arguments)

    def broadcast(
        self,
        command: str,
        arguments: Mapping[str, Any] | None = None,
        destination: Any = None,
        connection: Any = None,
        reply: bool = False,
        timeout: float | None = 1.0,
        limit: int | None = None,
        callback: Callable[[Any], Any] | None = None,
        channel: Any = None,
        pattern: str | None = None,
        matcher: str | None = None,
        **extra_kwargs: Any,
    ) -> Any:
        """Send a command to all workers, or to some by name or pattern; with `reply` return the replies.

        Raises UnsupportedFeature for a command that is not here, kombu's OperationalError without database.
        """
        if command in REFUSED:
            raise unsupported(f"the command {command}", REFUSED[command])
        arguments = dict(arguments or {}, **extra_kwargs)
        if durable_commands.carry_out(self.app, command, arguments, destination) and not reply:
            return None
        matching = {"pattern": pattern, "matcher": matcher} if pattern and matcher else {}
        return self.mailbox(connection)._broadcast(
            command, arguments, destination, reply, timeout, limit, callback, channel=channel, **matching
        )


def _in_child(reference: Any) -> Callable[[], None]:
    def forget() -> None:
        control = reference()
        if control is not None and isinstance(control.mailbox, Mailbox):
            control.mailbox.after_fork()

    return forget


if not TYPE_CHECKING:
    __getattr__, __path__ = refusing(__name__)
