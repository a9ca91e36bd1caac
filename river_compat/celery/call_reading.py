"""From a claimed row's call to its task and request."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from river_compat import codec
from river_compat.call_body import read_body
from river_compat.celery import waiting_step
from river_compat.celery.app import trace
from river_compat.celery.exceptions import InvalidTaskError, SecurityWarning
from river_compat.celery.priority import default_priority
from river_compat.celery.request import Context
from river_compat.celery.trace_ending import Ending
from river_compat.celery.worker_context import WorkerContext
from river_compat.envelope import TaskCall
from river_compat.errors import CallNotRunnable
from river_core.job import JobRow

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.app.task import Task

UNREADABLE = (codec.DecodeError, codec.ContentDisallowed, InvalidTaskError, ValueError)
"""What is raised for a call that will never be readable here."""
UNSAFE_TYPES = frozenset({"application/x-python-serialize"})
_UNSAFE = "accept_content names pickle: whoever can write a row can run code in this worker"


@dataclass(frozen=True, slots=True)
class Traced:
    """A task, and what runs it; libraries may have wrapped that."""

    task: Task[..., Any]
    trace: Callable[[str, Any, Any, Context], Ending]


class CallReader:
    """Reads the calls of one application's tasks. Used by all slots of a worker at once."""

    def __init__(self, app: Celery) -> None:
        """Read the settings once; warns where they let calls run code."""
        self._app = app
        self._tasks = app.tasks
        self._priority = default_priority(app.priority_scheme)
        self._accept = codec.accepted_types(app.conf.accept_content)
        self._tracers: dict[str, Traced] = {}
        if self._accept & UNSAFE_TYPES:
            warnings.warn(SecurityWarning(_UNSAFE), stacklevel=3)

    def tracer(self, call: TaskCall) -> Traced:
        """Return the task of a call; raises CallNotRunnable for one that nobody registered here."""
        task = self._tasks.get(call.name)
        tracer = self._tracers.get(call.name)
        if tracer is not None and tracer.task is task:
            return tracer
        if task is None:
            close = ", ".join(self._tasks.near_misses(call.name))
            raise CallNotRunnable(
                f"task {call.name!r} is not registered in this worker"
                + (f"; it knows {close}" if close else "; import the module that defines it")
            )
        made = trace.build_tracer(task.name, task, app=self._app)
        tracer = self._tracers[call.name] = Traced(task, made)
        return tracer

    def request(self, call: TaskCall, row: JobRow) -> WorkerContext:
        """Return the request of a call; raises one of UNREADABLE."""
        return WorkerContext(call, row, *self._arguments(call, row), self._priority)

    def _arguments(self, call: TaskCall, row: JobRow) -> tuple[Any, Any, Any]:
        if call.body is None:
            return call.plain_args, call.plain_kwargs, None
        body = read_body(call, self._accept)
        try:
            args, kwargs, embedded = body
        except (TypeError, ValueError) as error:
            raise InvalidTaskError(
                f"the body of task {call.name}[{call.id}] is not [args, kwargs, embed]"
            ) from error
        if not isinstance(args, list | tuple) or not isinstance(kwargs, Mapping):
            raise InvalidTaskError(f"the arguments of task {call.name}[{call.id}] are no list and mapping")
        return waiting_step.arguments(args, call, row, self._accept), kwargs, embedded
