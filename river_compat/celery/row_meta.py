"""What the rows of a task say about it: state, result, traceback and facts, as Celery keeps them as `meta`.

A result that somebody stored by hand stands in the row's metadata too. Stored success wins over whatever the
run gives; anything else holds until the run ends.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from river_compat import codec, envelope
from river_compat.call_body import read_body
from river_compat.celery import states
from river_compat.celery.exceptions import (
    BackendGetMetaError,
    SecurityError,
    TaskRevokedError,
    WorkerLostError,
)
from river_compat.celery.message_headers import read_headers
from river_compat.celery.result_rows import Rows
from river_compat.celery.result_tuples import read_children
from river_compat.celery.utils.nodenames import of_client
from river_compat.envelope import TaskCall
from river_compat.results import (
    CHILDREN,
    EXCEPTION,
    OUTCOME,
    RebuildError,
    TaskOutcome,
    lost_reason,
    rebuild_exception,
    result_value,
    value_of_text,
)
from river_core import errors
from river_core.job import JobRow, JobState
from river_core.task_rows import META_KEY, STATE_KEY

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

MADE_UP_MODULE = "river_compat.celery.exceptions"
FACTS = "python_task_facts"
"""What a result stored by hand says about its call: the text of a JSON object."""
STORED_FACTS = ("name", "args", "kwargs", "worker", "retries", "queue")

Meta = dict[str, Any]


def nothing_known(task_id: str) -> Meta:
    """Return the facts of a task that has no row."""
    return {
        "task_id": task_id,
        "status": states.PENDING,
        "result": None,
        "traceback": None,
        "children": None,
        "date_done": None,
    }


def revoked_before(task_id: str) -> Meta:
    """Return the facts of a task that was revoked before it was sent."""
    revoked = TaskRevokedError(TaskOutcome.REVOKED.value)
    return {**nothing_known(task_id), "status": states.REVOKED, "result": revoked}


def meta_of(app: Celery, task_id: str, rows: Rows | None) -> Meta:
    """Return what rows say about a task; PENDING for none.

    Raises BackendGetMetaError for a row that cannot be read, SecurityError for a stored exception that is
    none.
    """
    return RowReader(app).meta_of(task_id, rows)


class RowReader:
    """Reads rows by the settings and tasks of one application."""

    def __init__(self, app: Celery) -> None:
        """Read by `app`."""
        self.app = app

    def meta_of(self, task_id: str, rows: Rows | None) -> Meta:
        """As the function of that name."""
        meta = nothing_known(task_id)
        if rows is None:
            return meta
        row = rows.newest
        call = envelope.decode_or_none(row.encoded_args, row.id)
        try:
            meta.update(self._facts(row, call))
            meta.update(self._state(rows, _headers(call)))
        except (TypeError, ValueError, AttributeError, errors.JobRowDecodeError) as error:
            raise BackendGetMetaError(
                f"the row {row.id} of task {task_id} cannot be read: {error}", task_id=task_id
            ) from error
        if meta["status"] in states.READY_STATES:
            meta["date_done"] = row.finalized_at
        return meta

    def _facts(self, row: JobRow, call: TaskCall | None) -> Meta:
        attempted_by = row.attempted_by
        facts: Meta = {
            "children": read_children(row.metadata.get(CHILDREN), self.app),
            "queue": row.queue,
            "worker": of_client(attempted_by[-1]) if attempted_by else None,
        }
        if call is not None:
            args, kwargs = self._arguments(call)
            retries = _headers(call).get("retries", 0)
            facts |= {"name": call.name, "args": args, "kwargs": kwargs, "retries": retries}
        if FACTS in row.metadata:
            facts |= _stored_facts(row.metadata[FACTS])
        return facts

    def _arguments(self, call: TaskCall) -> tuple[Any, Any]:
        if call.body is None:
            return call.plain_args, call.plain_kwargs
        try:
            accept = codec.accepted_types(self.app.conf.accept_content)
            args, kwargs, *_ = read_body(call, accept)
        except (codec.DecodeError, codec.ContentDisallowed, ValueError, TypeError):
            return call.args_repr, call.kwargs_repr
        return args, kwargs

    def _state(self, rows: Rows, headers: Meta) -> Meta:
        row, metadata = rows.newest, rows.newest.metadata
        ignored = bool(headers.get("ignore_result"))
        stored = metadata.get(STATE_KEY)
        if stored is not None and (stored == states.SUCCESS or _stands(row)):
            return self._stored(stored, metadata)
        if row.state is JobState.COMPLETED:
            return self._completed(metadata, ignored)
        if row.state is JobState.CANCELLED:
            reason = metadata.get(OUTCOME) or TaskOutcome.REVOKED.value
            return {"status": states.REVOKED, "result": TaskRevokedError(reason)}
        if row.state is JobState.DISCARDED:
            return {} if ignored and EXCEPTION not in metadata else self._failed(row)
        if row.state is JobState.RUNNING and self._reports_start(rows):
            return {
                "status": states.STARTED,
                "result": {"hostname": of_client(row.attempted_by[-1]), "pid": None},
            }
        return self._between_runs(rows, headers)

    def _completed(self, metadata: Meta, ignored: bool) -> Meta:
        outcome = metadata.get(OUTCOME)
        if outcome == TaskOutcome.RETRIED:
            return self._raised(states.RETRY, metadata)
        if ignored or outcome in (TaskOutcome.IGNORED, TaskOutcome.REPLACED):
            return {}
        return {"status": states.SUCCESS, "result": result_value(metadata, self._accept())}

    def _stored(self, state: str, metadata: Meta) -> Meta:
        """Return a state that was stored by hand, or reported by the task."""
        if state in states.EXCEPTION_STATES and EXCEPTION in metadata:
            return self._raised(state, metadata)
        text = metadata.get(META_KEY)
        try:
            value = value_of_text(text, self._accept()) if text is not None else None
        except (codec.DecodeError, json.JSONDecodeError) as error:
            raise BackendGetMetaError(f"the state of the task cannot be read: {error}") from error
        if state in states.EXCEPTION_STATES and isinstance(value, dict) and "exc_type" in value:
            return self._raised(state, {EXCEPTION: value})
        return {"status": state, "result": value}

    def _accept(self) -> frozenset[str]:
        return codec.accepted_types(self.app.conf.result_accept_content or self.app.conf.accept_content)

    def _between_runs(self, rows: Rows, headers: Meta) -> Meta:
        """Return RETRY for the successor of a retried run, with that run's exception; else PENDING."""
        if not headers.get("retries") or headers.get("ignore_result"):
            return {}
        return self._raised(states.RETRY, rows.before.metadata if rows.before is not None else {})

    def _failed(self, row: JobRow) -> Meta:
        trace = (row.errors[-1].trace if row.errors else "") or None
        if EXCEPTION in row.metadata:
            meta = self._raised(states.FAILURE, row.metadata)
            return {**meta, "traceback": trace}
        return {
            "status": states.FAILURE,
            "result": WorkerLostError(lost_reason(row)),
            "traceback": trace,
        }

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
        call = envelope.decode_or_none(rows.newest.encoded_args, rows.newest.id)
        task = self.app.tasks.get(call.name) if call is not None else None
        return bool(task.track_started if task is not None else self.app.conf.task_track_started)


def _stands(row: JobRow) -> bool:
    """Whether a stored state is not covered by what the run itself gave.

    A row that was finished elsewhere, without an outcome of ours, has no say; one whose outcome was taken
    back when somebody stored another has. An ignored run leaves the state that it has reported.
    """
    metadata = row.metadata
    if row.finalized_at is None:
        return True
    return OUTCOME in metadata and metadata[OUTCOME] in (None, TaskOutcome.IGNORED)


def _stored_facts(text: Any) -> Meta:
    facts = json.loads(text)
    return {name: value for name, value in facts.items() if name in STORED_FACTS}


def _headers(call: TaskCall | None) -> Meta:
    """Read the headers of a row; those of a stranger's broken row are empty."""
    try:
        return read_headers(call.headers) if call is not None else {}
    except codec.DecodeError:
        return {}
