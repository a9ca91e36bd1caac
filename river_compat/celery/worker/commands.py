"""The control commands of every worker."""

from __future__ import annotations

import builtins
import logging
import os
import signal
from contextlib import suppress
from typing import Any

from river_compat.celery.app.control import REFUSED
from river_compat.celery.durable_commands import DEFAULT, check_rate
from river_compat.celery.worker.panel import control_command, nok, ok
from river_core import errors

logger = logging.getLogger("celery.worker.control")


def _ids(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else list(given or ())


@control_command(variadic="task_id", signature="[id1 [id2 [... [idN]]]]")
def revoke(state: Any, task_id: Any, terminate: bool = False, signal: Any = None, **kwargs: Any) -> Any:
    """Revoke tasks by id (or list of ids); the caller's part is done in the database."""
    ids = _ids(task_id)
    if not terminate:
        state.facts.revoke(ids)
        return ok(f"tasks {ids} flagged as revoked")
    state.remote.end_terminated()
    return ok(f"terminate: tasks {ids} are ended by {signal or 'SIGTERM'} where they run")


@control_command(
    variadic="headers",
    signature="[key1=value1 [key2=value2 [... [keyN=valueN]]]]",
    name="revoke_by_stamped_headers",
)
def revoke_by_stamped_headers(
    state: Any,
    headers: Any,
    terminate: bool = False,
    signal: Any = None,
    **kwargs: Any,
) -> Any:
    """Revoke tasks by their stamps; the caller's part is done in the database."""
    if not terminate:
        return ok(f"headers {headers} flagged as revoked, but not terminated")
    state.remote.end_terminated()
    return ok(f"headers {headers} revoked, and ended by {signal or 'SIGTERM'} where they run")


@control_command(
    variadic="task_id",
    args=[("signal", str)],
    signature="<signal> [id1 [id2 [... [idN]]]]",
)
def terminate(state: Any, signal: Any, task_id: Any, **kwargs: Any) -> Any:
    """Revoke tasks by id and end those that run by a signal."""
    return revoke(state, task_id, terminate=True, signal=signal)


@control_command(
    args=[("task_name", str), ("rate_limit", str)],
    signature="<task_name> <rate_limit (e.g., 5/s | 5/m | 5/h | default)>",
)
def rate_limit(state: Any, task_name: str, rate_limit: Any, **kwargs: Any) -> Any:
    """Tell workers to change how often a task may start."""
    try:
        check_rate(rate_limit)
    except (KeyError, ValueError) as error:
        return nok(f"Invalid rate limit string: {error!r}")
    if task_name not in state.app.tasks:
        logger.error("a rate limit was set for task %s, which is not known here", task_name)
        return nok("unknown task")
    state.change_limits(task_name, rate_limit=rate_limit)
    state.remote.release(task_name, state.is_first)
    if rate_limit == DEFAULT:
        return ok("rate limit is the task's own again")
    if not rate_limit:
        return ok("rate limit disabled successfully")
    return ok("new rate limit set successfully")


@control_command(
    args=[("task_name", str), ("soft", float), ("hard", float)],
    signature="<task_name> <soft_secs> [hard_secs]",
)
def time_limit(state: Any, task_name: str, hard: Any = None, soft: Any = None, **kwargs: Any) -> Any:
    """Tell workers to change how long a task may run."""
    if task_name not in state.app.tasks:
        logger.error("time limits were set for task %s, which is not known here", task_name)
        return nok("unknown task")
    state.change_limits(task_name, time_limit=[hard, soft])
    return ok("time limits set successfully")


@control_command()
def enable_events(state: Any) -> Any:
    """Do nothing: workers send no events."""
    return ok("task events do not exist here: the rows of river_job tell what happens")


@control_command()
def disable_events(state: Any) -> Any:
    """Do nothing: workers send no events."""
    return ok("task events do not exist here")


@control_command()
def heartbeat(state: Any) -> None:
    """Do nothing: a worker's lock shows that it lives."""


@control_command(visible=False)
def election(state: Any, id: str, topic: str, action: Any = None, **kwargs: Any) -> Any:  # noqa: A002
    """Refuse."""
    return nok(f"not supported: {REFUSED['election']}")


@control_command(args=[("n", int)], signature="[N=1]")
def pool_grow(state: Any, n: int = 1, **kwargs: Any) -> Any:
    """Run n tasks more at once."""
    return _resized(state, state.worker.size + int(n), "pool will grow")


@control_command(args=[("n", int)], signature="[N=1]")
def pool_shrink(state: Any, n: int = 1, **kwargs: Any) -> Any:
    """Run n tasks fewer at once."""
    return _resized(state, state.worker.size - int(n), "pool will shrink")


def _resized(state: Any, size: int, text: str, least: int | None = None) -> Any:
    try:
        state.worker.resize(size, least)
    except errors.ConfigurationError as error:
        return nok(str(error))
    return ok(text)


@control_command()
def pool_restart(
    state: Any, modules: Any = None, reload: bool = False, reloader: Any = None, **kwargs: Any
) -> Any:
    """Refuse: restart the worker."""
    return nok("a pool is not restarted in place: restart the worker; its tasks may finish")


@control_command(args=[("max", int), ("min", int)], signature="[max [min]]")
def autoscale(state: Any, max: int | None = None, min: int | None = None) -> Any:  # noqa: A002
    """Change how many tasks run at once at most, and how many child processes there are at least."""
    config = state.worker.config.processes
    if config is None or config.min_size is None:
        return nok("Autoscale not enabled")
    most = state.worker.size if max is None else int(max)
    least = builtins.min(state.worker.least if min is None else int(min), most)
    return _resized(state, most, f"autoscale now max={most} min={least}", least)


@control_command()
def shutdown(state: Any, msg: str = "Got shutdown from remote", **kwargs: Any) -> None:
    """Stop the worker; what runs may finish."""
    logger.warning(msg)
    state.remote.shut_down()


@control_command(
    args=[
        ("queue", str),
        ("exchange", str),
        ("exchange_type", str),
        ("routing_key", str),
    ],
    signature="<queue> [exchange [type [routing_key]]]",
)
def add_consumer(
    state: Any,
    queue: str,
    exchange: Any = None,
    exchange_type: Any = None,
    routing_key: Any = None,
    **options: Any,
) -> Any:
    """Tell workers to work one more queue, or anew one whose last tasks still run after its cancellation."""
    if not any(item.name == queue and not item.leaving for item in state.worker.queue_states()):
        state.worker.queue_add(queue, state.queue_config())
    return ok(f"add consumer {queue}")


@control_command(args=[("queue", str)], signature="<queue>")
def cancel_consumer(state: Any, queue: str, **kwargs: Any) -> Any:
    """Tell workers to claim no more for a queue."""
    with suppress(errors.NotFoundError):
        state.remote.aside(state.worker.queue_leave(queue))
    return ok(f"no longer consuming from {queue}")


def stop_process() -> None:
    """Stop this process as SIGTERM does, for a worker that is the process."""
    os.kill(os.getpid(), signal.SIGTERM)
