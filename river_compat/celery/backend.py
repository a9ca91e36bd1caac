"""Results without a result store: the state of a task is read from its rows.

`app.backend` is one of these. What Celery keeps in a second store, and reads by `get_task_meta`, is
derived here from the newest row of the task.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from river_compat import codec, envelope
from river_compat.celery import states
from river_compat.celery.exceptions import (
    BackendGetMetaError,
    OperationalError,
    SecurityError,
    TaskRevokedError,
    WorkerLostError,
)
from river_compat.celery.request import read_headers
from river_compat.envelope import TaskCall
from river_compat.errors import CompatError
from river_compat.results import (
    CHILDREN,
    EXCEPTION,
    OUTCOME,
    RETRY_ID,
    RebuildError,
    TaskOutcome,
    rebuild_exception,
    result_value,
)
from river_core import errors, task_rows
from river_core.job import JobRow, JobState
from river_core.task_rows import META_KEY, STATE_KEY

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.request import Context

MADE_UP_MODULE = "river_compat.celery.exceptions"

Meta = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """The newest row of a task and the one that it is the retry of, where that is known."""

    newest: JobRow
    before: JobRow | None = None


class RowBackend:
    """Reads and writes what an application's rows say about its tasks."""

    READY_STATES = states.READY_STATES
    persistent = True
    supports_native_join = True

    def __init__(self, app: Celery) -> None:
        """Belong to `app`; nothing connects here."""
        self.app = app

    # -- rows

    def find(self, task_id: str, row_id: int | None, before: JobRow | None = None) -> Rows | None:
        """Return the newest row of a task, by its row's id where that is known.

        `before` is the row that `row_id` is the retry of. Raises kombu's OperationalError when the
        database cannot be reached.
        """
        try:
            if row_id is None:
                return self._find_by_task_id(task_id)
            row = task_rows.get_row(self.app.runtime.driver, row_id)
            return None if row is None else self._follow(row, before)
        except errors.OperationalError as error:
            raise OperationalError(str(error)) from error

    def _find_by_task_id(self, task_id: str) -> Rows | None:
        rows = task_rows.find_by_task_id(self.app.runtime.driver, task_id)
        return Rows(rows[0], rows[1] if len(rows) > 1 else None) if rows else None

    def _follow(self, row: JobRow, before: JobRow | None) -> Rows:
        seen = {row.id}
        while (following := _retry_id(row)) is not None and following not in seen:
            seen.add(following)
            successor = task_rows.get_row(self.app.runtime.driver, following)
            if successor is None:
                break
            row, before = successor, row
        return Rows(row, before)

    # -- what they say

    def get_task_meta(self, task_id: str) -> Meta:
        """Return state, result, traceback and facts of a task by its id; PENDING for an unknown one."""
        return self.meta_of(task_id, self.find(task_id, None))

    def meta_of(self, task_id: str, rows: Rows | None) -> Meta:
        """Return the same from rows that were read already."""
        meta: Meta = {"task_id": task_id, "status": states.PENDING, "result": None, "traceback": None}
        if rows is None:
            return {**meta, "children": None, "date_done": None}
        row = rows.newest
        call = _call(row)
        try:
            meta.update(self._facts(row, call))
            meta.update(self._state(rows, _headers(call)))
        except (TypeError, ValueError, AttributeError, errors.JobRowDecodeError) as error:
            raise BackendGetMetaError(
                f"the row {row.id} of task {task_id} cannot be read: {error}"
            ) from error
        if meta["status"] in states.READY_STATES:
            meta["date_done"] = row.finalized_at
        return meta

    def _facts(self, row: JobRow, call: TaskCall | None) -> Meta:
        attempted_by = row.attempted_by
        children = [self.app.AsyncResult(child) for child in row.metadata.get(CHILDREN, ())]
        facts: Meta = {
            "children": children or None,
            "date_done": None,
            "queue": row.queue,
            "worker": attempted_by[-1] if attempted_by else None,
        }
        if call is not None:
            args, kwargs = self._arguments(call)
            retries = _headers(call).get("retries", 0)
            facts |= {"name": call.name, "args": args, "kwargs": kwargs, "retries": retries}
        return facts

    def _arguments(self, call: TaskCall) -> tuple[Any, Any]:
        if call.body is None:
            return call.plain_args, call.plain_kwargs
        try:
            accept = codec.accepted_types(self.app.conf.accept_content)
            args, kwargs, *_ = codec.decode(call.body, call.content_type, call.content_encoding, accept)
        except (codec.DecodeError, codec.ContentDisallowed, ValueError, TypeError):
            return call.args_repr, call.kwargs_repr
        return args, kwargs

    def _state(self, rows: Rows, headers: Meta) -> Meta:
        row, metadata = rows.newest, rows.newest.metadata
        ignored = bool(headers.get("ignore_result"))
        if row.state is JobState.COMPLETED:
            return self._completed(metadata, ignored)
        if row.state is JobState.CANCELLED:
            reason = metadata.get(OUTCOME) or TaskOutcome.REVOKED.value
            return {"status": states.REVOKED, "result": TaskRevokedError(reason)}
        if row.state is JobState.DISCARDED:
            return {} if ignored and EXCEPTION not in metadata else self._failed(row)
        if STATE_KEY in metadata:
            return {"status": metadata[STATE_KEY], "result": _custom_meta(metadata)}
        if row.state is JobState.RUNNING and self._reports_start(rows):
            return {"status": states.STARTED, "result": {"hostname": row.attempted_by[-1], "pid": None}}
        return self._between_runs(rows, headers)

    def _completed(self, metadata: Meta, ignored: bool) -> Meta:
        outcome = metadata.get(OUTCOME)
        if outcome == TaskOutcome.RETRIED:
            return self._raised(states.RETRY, metadata)
        if outcome == TaskOutcome.IGNORED and STATE_KEY in metadata:
            return {"status": metadata[STATE_KEY], "result": _custom_meta(metadata)}
        if ignored or outcome == TaskOutcome.IGNORED:
            return {}
        accept = codec.accepted_types(self.app.conf.result_accept_content or self.app.conf.accept_content)
        return {"status": states.SUCCESS, "result": result_value(metadata, accept)}

    def _between_runs(self, rows: Rows, headers: Meta) -> Meta:
        """Return RETRY for the successor of a retried run, with that run's exception; else PENDING."""
        if not headers.get("retries") or headers.get("ignore_result"):
            return {}
        return self._raised(states.RETRY, rows.before.metadata if rows.before is not None else {})

    def _failed(self, row: JobRow) -> Meta:
        last = row.errors[-1] if row.errors else None
        if EXCEPTION in row.metadata:
            meta = self._raised(states.FAILURE, row.metadata)
            return {**meta, "traceback": last.trace if last is not None else None}
        reason = last.error if last is not None else "the row was discarded"
        lost = WorkerLostError(f"the task ended without a result after {row.attempt} attempts: {reason}")
        return {"status": states.FAILURE, "result": lost, "traceback": last.trace if last else None}

    def _raised(self, state: str, metadata: Meta) -> Meta:
        data = metadata.get(EXCEPTION)
        if not isinstance(data, dict) or "exc_type" not in data:
            return {"status": state, "traceback": data.get("traceback") if isinstance(data, dict) else None}
        try:
            error = rebuild_exception(data, MADE_UP_MODULE)
        except RebuildError as refused:
            raise SecurityError(str(refused)) from refused
        return {"status": state, "result": error, "traceback": data.get("traceback")}

    def _reports_start(self, rows: Rows) -> bool:
        call = _call(rows.newest)
        task = self.app.tasks.get(call.name) if call is not None else None
        return bool(task.track_started if task is not None else self.app.conf.task_track_started)

    # -- writing

    def store_state(self, task_id: str, state: str | None, meta: Any, request: Context) -> None:
        """Store a custom state of a running task at once; nothing for one that does not run.

        Raises kombu's EncodeError for facts that are no JSON.
        """
        if request.is_eager or (request.called_directly and request.id is None):
            return
        row_id = request.get("river_job_id") if task_id == request.id else None
        if row_id is None:
            rows = self.find(task_id, None)
            row_id = rows.newest.id if rows is not None else None
        if row_id is not None:
            text = codec.encode(meta, "json").text
            task_rows.set_task_state(self.app.runtime.driver, row_id, state or states.PENDING, text)

    def store_result(
        self, task_id: str, result: Any, state: str, traceback: Any = None, request: Any = None, **kwargs: Any
    ) -> Any:
        """Store a custom state, with facts, in the row of a task that has not ended; returns the facts.

        How a task ended is written with the end of its row, by the worker; no other state is changed then.
        """
        row_id = request.get("river_job_id") if request is not None else None
        if row_id is None and (rows := self.find(task_id, None)) is not None:
            row_id = rows.newest.id
        if row_id is not None:
            text = codec.encode(result, "json").text
            task_rows.set_task_state(self.app.runtime.driver, row_id, state, text)
        return result

    def forget(self, task_id: str) -> None:
        """Delete the finished rows of a task."""
        task_rows.delete_finished(self.app.runtime.driver, task_id)


def _retry_id(row: JobRow) -> int | None:
    metadata = row.metadata if row.state is JobState.COMPLETED else {}
    if metadata.get(OUTCOME) != TaskOutcome.RETRIED:
        return None
    following = metadata.get(RETRY_ID)
    return following if isinstance(following, int) and 0 < following < 2**63 else None


def _call(row: JobRow) -> TaskCall | None:
    try:
        return envelope.decode(row.encoded_args, row.id)
    except CompatError:
        return None


def _headers(call: TaskCall | None) -> Meta:
    """Read the headers of a row; those of a stranger's broken row are empty."""
    try:
        return read_headers(call.headers) if call is not None else {}
    except codec.DecodeError:
        return {}


def _custom_meta(metadata: Meta) -> Any:
    text = metadata.get(META_KEY)
    try:
        return codec.decode(text, codec.JSON_TYPE, "utf-8", codec.ACCEPT_JSON) if text is not None else None
    except (codec.DecodeError, json.JSONDecodeError) as error:
        raise BackendGetMetaError(f"the state of the task cannot be read: {error}") from error
