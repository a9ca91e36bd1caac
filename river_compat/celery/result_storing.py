"""Results that are stored by hand: into the row of the task, or into a finished row of their own.

The first success wins: nothing that is stored after it changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from river_compat import codec, envelope
from river_compat.celery import states
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.result_rows import Wanted, find_rows
from river_compat.celery.result_tuples import children_text, prepared
from river_compat.celery.row_meta import FACTS
from river_compat.compression import UnknownCompressionError, content_type_of
from river_compat.envelope import TaskCall
from river_compat.results import CHILDREN, EXCEPTION, OUTCOME, exception_metadata, value_text
from river_core import task_rows
from river_core.job import JobState
from river_core.task_rows import META_KEY, STATE_KEY

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

_FINISHED = {states.FAILURE: JobState.DISCARDED, states.REVOKED: JobState.CANCELLED}


def result_compression(conf: Mapping[str, Any]) -> str | None:
    """Return the method of `result_compression`; raises ImproperlyConfigured for one that kombu lacks."""
    method: str | None = conf["result_compression"] or None
    try:
        if method is not None:
            content_type_of(method)
    except UnknownCompressionError as error:
        raise ImproperlyConfigured(f"result_compression={method!r}: {error}") from None
    return method


def store(
    app: Celery, task_id: str, state: str, value: Any, traceback: str | None, request: Any, row_id: int | None
) -> None:
    """Store a state and its value; `row_id` is the row of the task where it is known.

    Raises kombu's EncodeError for a value that cannot be stored and OperationalError.
    """
    updates = _updates(state, value, traceback, request, app.conf)
    driver = app.runtime.driver
    if row_id is None:
        rows = find_rows(driver, [Wanted(task_id)])[0]
        row_id = rows.newest.id if rows is not None else None
    if row_id is not None:
        task_rows.store_result(driver, row_id, updates, state in states.READY_STATES)
        return
    call = TaskCall(str(task_id), "celery", getattr(request, "task", None) or "", body="[[], {}, null]")
    queue = app.conf.task_default_queue
    finished = _FINISHED.get(state, JobState.COMPLETED)
    task_rows.insert_result(driver, envelope.encode(call), {**updates, OUTCOME: None}, queue, finished)


def _updates(
    state: str, value: Any, traceback: str | None, request: Any, conf: Mapping[str, Any]
) -> dict[str, Any]:
    updates: dict[str, Any] = {STATE_KEY: state}
    if state in states.EXCEPTION_STATES and isinstance(value, BaseException):
        updates[EXCEPTION] = exception_metadata(value, traceback)
    else:
        serializer = conf["result_serializer"]
        updates[META_KEY] = value_text(prepared(value, serializer), serializer, result_compression(conf))
    if request is not None:
        updates |= _of_request(request)
    return updates


def _of_request(request: Any) -> dict[str, Any]:
    """Return what a request given along says; that of a running task stands in its row already."""
    children = children_text(getattr(request, "children", None) or ())
    stored: dict[str, Any] = {} if children is None else {CHILDREN: children}
    if getattr(request, "river_job_id", None) is None and getattr(request, "task", None):
        info = request.delivery_info or {}
        facts = {
            "name": request.task,
            "args": request.args,
            "kwargs": request.kwargs,
            "worker": request.hostname,
            "retries": request.retries,
            "queue": info.get("routing_key"),
        }
        stored[FACTS] = codec.encode(facts, "json").text
    return stored
