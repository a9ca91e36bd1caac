"""Revokes tasks: their rows end in one transaction with what waits for them, and workers hear of it."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Collection, Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from river_compat import codec, envelope
from river_compat.call_body import read_body
from river_compat.celery import worker_telling
from river_compat.celery.exceptions import SecurityWarning
from river_compat.celery.message import FRAMEWORK
from river_compat.celery.remote_names import MAX_IDS_CHARACTERS, REVOKED, TOPIC
from river_compat.celery.runner import CeleryRunner
from river_compat.celery.signals import task_revoked
from river_compat.celery.worker_context import WorkerContext
from river_compat.envelope import TaskCall
from river_compat.errors import CallNotRunnable, CompatError, MalformedCall
from river_compat.feeding import fed
from river_compat.python_task import PythonTask
from river_compat.results import OUTCOME, TaskOutcome
from river_core.cancelling import CancelledRows, Canceller
from river_core.drivers.base import Connection
from river_core.job import JobRow
from river_core.links import Part, feeds_of
from river_core.notifier import notify_on
from river_core.outcome import Cancelled, Outcome
from river_core.standing import put_on
from river_core.task import Registry

EXPIRES_VARIABLE = "CELERY_WORKER_REVOKE_EXPIRES"
EXPIRES_SECONDS = 10_800.0
REASON = "revoked"

_registries: WeakKeyDictionary[Any, Registry] = WeakKeyDictionary()


def revoke_expires() -> float:
    """Return for how many seconds the id of a task that nobody has sent is remembered."""
    return float(os.environ.get(EXPIRES_VARIABLE) or EXPIRES_SECONDS)


def revoke(app: Any, task_ids: Collection[str], signal: str | None) -> CancelledRows:
    """End every unfinished row of these tasks; `signal` names what ends those that run.

    Ids without rows that have all ended are remembered, for rows to come. Raises DatabaseError.
    """
    driver = app.runtime.driver

    def remember(connection: Connection, done: CancelledRows) -> None:
        ended = {_call(row).id for row in done.ended} - {_call(row).id for row in done.running}
        for task_id in task_ids:
            if task_id not in ended:
                put_on(connection, driver, f"{REVOKED}{task_id}", "", revoke_expires())
        notify_on(connection, driver, TOPIC, _payloads(list(task_ids)))

    done = _canceller(app).cancel_tasks(task_ids, signal, remember)
    _tell(app, done.ended)
    return done


def revoke_stamped(app: Any, stamps: Iterable[tuple[str, Any]], signal: str | None) -> CancelledRows:
    """End every unfinished row that holds any of the stamps. Raises DatabaseError."""
    done = _canceller(app).cancel_stamped(stamps, signal)
    _tell(app, done.ended)
    return done


def end_sentinel(app: Any, task_id: str) -> None:
    """End a row that others wait for although it has nothing to do, as if it had succeeded."""
    Canceller(app.runtime.driver, _registry(app), _as_success).cancel_tasks([task_id])


def _as_success(row: JobRow) -> Cancelled:
    parts = tuple(Part(target, index, "{}") for target, index in feeds_of(row.metadata))
    return Cancelled("it has done its part", {OUTCOME: TaskOutcome.IGNORED.value}, hand_overs=parts)


def revoked_outcome(row: JobRow) -> Outcome:
    """Return how a row ends that is revoked before it runs, with what waits for it."""
    return fed(Cancelled(REASON, {OUTCOME: TaskOutcome.REVOKED.value}), _call(row), row)


def _ends(row: JobRow) -> Cancelled:
    outcome = revoked_outcome(row)
    assert isinstance(outcome, Cancelled)  # noqa: S101 - fed keeps the kind of an outcome
    return outcome


def _call(row: JobRow) -> TaskCall:
    try:
        return envelope.decode(row.encoded_args, row.id)
    except (CallNotRunnable, MalformedCall):
        return TaskCall(str(row.id), FRAMEWORK, "")


def _canceller(app: Any) -> Canceller:
    return Canceller(app.runtime.driver, _registry(app), _ends)


def _registry(app: Any) -> Registry:
    registry = _registries.get(app)
    if registry is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # nothing is decoded here
            registry = Registry().add(PythonTask({FRAMEWORK: CeleryRunner(app)}))
        _registries[app] = registry
    return registry


def _payloads(task_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Return what workers hear: the ids, in several messages, or that there are some that are too long."""
    payloads: list[dict[str, Any]] = []
    part: list[str] = []
    size = 0
    for task_id in task_ids:
        length = len(json.dumps(task_id)) + 1
        if length > MAX_IDS_CHARACTERS:
            payloads.append({"revoked": None})
            continue
        if size + length > MAX_IDS_CHARACTERS:
            payloads.append({"revoked": part})
            part, size = [], 0
        part.append(task_id)
        size += length
    return [*payloads, {"revoked": part}] if part else payloads


def _tell(app: Any, rows: Iterable[JobRow]) -> None:
    """Send `task_revoked` for rows that no worker will ever see."""
    if not task_revoked.receivers:
        return
    accept = codec.accepted_types(app.conf.accept_content)
    for row in rows:
        call = _call(row)
        task = app.tasks.get(call.name)
        if task is not None:
            worker_telling.tell_revoked(task, WorkerContext(call, row, *_arguments(call, accept)))


def _arguments(call: TaskCall, accept: Collection[str]) -> tuple[Any, Any, Any]:
    if call.body is None:
        return call.plain_args, call.plain_kwargs, None
    try:
        args, kwargs, embedded = read_body(call, accept)
    except (codec.DecodeError, codec.ContentDisallowed, CompatError, ValueError, TypeError):
        return call.args_repr, call.kwargs_repr, None
    return args, kwargs, embedded
