"""The inspect commands of every worker."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal

import kombu.entity

from river_compat import codec, envelope
from river_compat.call_body import read_body
from river_compat.celery.app.control import REFUSED
from river_compat.celery.message_headers import read_headers
from river_compat.celery.priority import default_priority
from river_compat.celery.worker.panel import inspect_command, nok, ok
from river_compat.errors import CompatError
from river_core import JobHere, JobRow

SCHEDULED_ROWS = 1_000
TIMER_PRIORITY = 6
"""What Celery tells of all that waits for its time: the place in its timer, not the task's priority."""
Direction = Literal["asc", "desc"]
DEFAULT_TASK_INFO_ITEMS = ("exchange", "routing_key", "rate_limit")
_KILOBYTE = 1024


@inspect_command(default_timeout=0.2)
def ping(state: Any, **kwargs: Any) -> Any:
    """Ping worker(s)."""
    return ok("pong")


@inspect_command()
def report(state: Any) -> Any:
    """Information about Celery installation for bug reports."""
    return ok(state.app.bugreport())


@inspect_command(
    name="conf", alias="dump_conf", signature="[include_defaults=False]", args=[("with_defaults", bool)]
)
def conf(state: Any, with_defaults: bool = False, **kwargs: Any) -> Any:
    """List configuration, without secrets."""
    return _plain(state.app.conf.table(with_defaults=bool(with_defaults)))


@inspect_command(variadic="ids", signature="[id1 [id2 [... [idN]]]]")
def query_task(state: Any, ids: Any, **kwargs: Any) -> Any:
    """Query for task information by id."""
    wanted = {ids} if isinstance(ids, str) else set(ids)
    found = {}
    for here in state.worker.jobs_here():
        facts = _facts(state, here)
        if facts["id"] in wanted:
            found[facts["id"]] = ["active" if here.started else "reserved", facts]
    return found


@inspect_command()
def clock(state: Any, **kwargs: Any) -> Any:
    """Get current logical clock value."""
    return {"clock": state.facts.clock}


@inspect_command(visible=False)
def hello(state: Any, from_node: str, revoked: Any = None, **kwargs: Any) -> Any:
    """Tell the clock, and what is known as revoked; learn what the other knows."""
    if from_node == state.hostname:
        return None
    state.facts.revoke(revoked or ())
    return {"revoked": state.facts.revoked(), "clock": state.facts.tick()}


@inspect_command(default_timeout=0.2)
def stats(state: Any, **kwargs: Any) -> Any:
    """Request worker statistics/information."""
    worker = state.worker
    config = worker.config
    return {
        "total": dict(state.facts.total),
        "pid": os.getpid(),
        "clock": str(state.facts.clock),
        "uptime": round(time.monotonic() - state.facts.started_at),
        "pool": {
            "implementation": state.pool,
            "max-concurrency": worker.size,
            "processes": worker.pids,
            "max-tasks-per-child": config.processes.max_jobs_per_child if config.processes else None,
            "timeouts": [
                state.app.conf.get(name) or 0 for name in ("task_soft_time_limit", "task_time_limit")
            ],
        },
        "broker": {"transport": worker.driver.sql.dialect.value, "hostname": None},
        "prefetch_count": worker.size,
        "rusage": _usage(),
    }


def _usage() -> dict[str, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {name.removeprefix("ru_"): getattr(used, name) for name in dir(used) if name.startswith("ru_")}


@inspect_command(alias="dump_schedule")
def scheduled(state: Any, **kwargs: Any) -> Any:
    """List of currently scheduled ETA/countdown tasks, told by one worker for all."""
    if not state.is_first:
        return []
    now = datetime.now(UTC)
    rows = [*_rows(state, "scheduled", "asc"), *_rows(state, "available", "desc")]
    return [
        {
            "eta": row.scheduled_at.isoformat(timespec="microseconds"),
            "priority": TIMER_PRIORITY,
            "request": _row_facts(state, row),
        }
        for row in rows
        if row.scheduled_at > now
    ]


def _rows(state: Any, wanted: str, direction: Direction) -> list[JobRow]:
    """Return rows of a state by the time that they wait for; what is due within seconds is available."""
    found: list[JobRow] = state.worker.client.job_list(
        kinds=[envelope.KIND],
        states=[wanted],
        queues=list(state.app.queue_names()),
        order_by="time",
        direction=direction,
        limit=SCHEDULED_ROWS,
    ).jobs
    return found


@inspect_command(alias="dump_reserved")
def reserved(state: Any, **kwargs: Any) -> Any:
    """List of currently reserved tasks, not including scheduled/active."""
    return [_facts(state, here) for here in state.worker.jobs_here() if not here.started]


@inspect_command(alias="dump_active")
def active(state: Any, safe: bool = False, **kwargs: Any) -> Any:
    """List of tasks currently being executed."""
    return [_facts(state, here, bool(safe)) for here in state.worker.jobs_here() if here.started]


@inspect_command(alias="dump_revoked")
def revoked(state: Any, **kwargs: Any) -> Any:
    """List of revoked task-ids."""
    return state.facts.revoked()


@inspect_command(alias="dump_tasks", variadic="taskinfoitems", signature="[attr1 [attr2 [... [attrN]]]]")
def registered(state: Any, taskinfoitems: Any = None, builtins: bool = False, **kwargs: Any) -> Any:
    """List of registered tasks."""
    items = taskinfoitems or DEFAULT_TASK_INFO_ITEMS
    names = sorted(name for name in state.app.tasks if builtins or not name.startswith("celery."))
    return [_described(state.app.tasks[name], items) for name in names]


def _described(task: Any, items: Iterable[str]) -> str:
    found = {item: getattr(task, item, None) for item in items}
    shown = [f"{item}={value}" for item, value in found.items() if value is not None]
    return f"{task.name} [{' '.join(shown)}]" if shown else str(task.name)


@inspect_command()
def active_queues(state: Any) -> Any:
    """List the task queues a worker is currently consuming from."""
    make: Any = kombu.entity.Queue
    return [
        _plain(make(queue.name, routing_key=queue.name).as_dict(recurse=True))
        | ({"paused": True} if queue.paused else {})  # Celery knows no pause, so only then a key of its own
        for queue in state.worker.queue_states()
        if not queue.leaving
    ]


@inspect_command()
def memsample(state: Any, **kwargs: Any) -> Any:
    """Sample current RSS memory usage."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KILOBYTE:.1f}MB"


@inspect_command(args=[("samples", int)], signature="[n_samples=10]")
def memdump(state: Any, samples: int = 10, **kwargs: Any) -> Any:
    """Not supported: profile the worker's process from outside."""
    return nok(f"not supported: {REFUSED['memdump']}")


@inspect_command(
    args=[("type", str), ("num", int), ("max_depth", int)],
    signature="[object_type=Request] [num=200 [max_depth=10]]",
)
def objgraph(state: Any, num: int = 200, max_depth: int = 10, type: str = "Request") -> Any:  # noqa: A002
    """Not supported: profile the worker's process from outside."""
    return nok(f"not supported: {REFUSED['objgraph']}")


def _facts(state: Any, here: JobHere, safe: bool = False) -> dict[str, Any]:
    started = state.facts.epoch + here.claimed_at
    return {
        **_row_facts(state, here.row, safe),
        "time_start": started if here.started else None,
        "acknowledged": here.started and not _acknowledges_late(state, here.row),
        "worker_pid": here.pid if here.started else None,
    }


def _acknowledges_late(state: Any, row: JobRow) -> bool:
    """Whether Celery would hold the message of a running task until its end."""
    try:
        task = state.app.tasks.get(envelope.decode(row.encoded_args, row.id).name)
    except CompatError:
        return False
    return bool(state.app.conf.task_acks_late if task is None else task.acks_late)


def _row_facts(state: Any, row: JobRow, safe: bool = False) -> dict[str, Any]:
    facts: dict[str, Any] = {"id": str(row.id), "name": None, "args": None, "kwargs": None, "type": None}
    priority = None
    try:
        call = envelope.decode(row.encoded_args, row.id)
        args, kwargs = (call.args_repr, call.kwargs_repr) if safe else _arguments(call)
        facts |= {"id": call.id, "name": call.name, "args": args, "kwargs": kwargs, "type": call.name}
        given = read_headers(call.headers).get("priority")
        priority = default_priority(state.app.priority_scheme) if given is None else given
    except (CompatError, codec.DecodeError):
        pass
    return {
        **facts,
        "hostname": state.hostname,
        "time_start": None,
        "acknowledged": False,
        "delivery_info": {
            "exchange": "",
            "routing_key": row.queue,
            "priority": priority,
            "redelivered": row.attempt > 1,
        },
        "worker_pid": None,
    }


def _arguments(call: envelope.TaskCall) -> tuple[Any, Any]:
    """Return the arguments where they are JSON and any reader may have them, else as they are shown."""
    if call.body is None:
        return call.plain_args, call.plain_kwargs
    if call.content_type != codec.JSON_TYPE:
        return call.args_repr, call.kwargs_repr
    try:
        args, kwargs, *_ = read_body(call, codec.ACCEPT_JSON)
    except (codec.DecodeError, codec.ContentDisallowed, ValueError, TypeError):
        return call.args_repr, call.kwargs_repr
    return args, kwargs


def _plain(value: Any) -> Any:
    """Return a value with texts for what is no JSON."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value if isinstance(value, str | int | float | bool | None) else str(value)
