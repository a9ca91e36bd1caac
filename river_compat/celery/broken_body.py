"""The errbacks of a chord's body that never ran, because its header failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from river_compat import codec, envelope
from river_compat.call_body import read_body
from river_compat.celery import outgoing
from river_compat.celery.following import call_errbacks, rows_of_end
from river_compat.celery.message_headers import read_headers
from river_compat.celery.request import Context
from river_compat.celery.waiting_step import TELLS
from river_compat.celery.worker_context import WorkerContext
from river_core import task_rows
from river_core.job import JobRow

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery


def call_errbacks_of(app: Celery, request: Context, row_id: int, told: Sequence[str] = ()) -> None:
    """Call or send the errbacks of a row, with its exception; nothing for a row that is gone.

    Those that one of the tasks `told` has too are left out: they are called for that one. What is sent is
    written with the end of the task of `request`.
    """
    row = task_rows.get_row(app.runtime.driver, row_id)
    if row is None:
        return
    failed = _request(app, row)
    called = _errbacks_of(app, told)
    failed.__dict__["errbacks"] = [item for item in failed.errbacks or () if item not in called]
    meta = app.backend.get_task_meta(failed.id)
    told_as = read_headers(failed.headers_text).get(TELLS)
    if isinstance(told_as, str):
        failed.load()
        failed.__dict__["id"] = told_as
    with outgoing.collected(rows_of_end(request)):
        call_errbacks(app, failed, meta["result"], meta["traceback"] or None)


def _errbacks_of(app: Celery, task_ids: Sequence[str]) -> list[Any]:
    found = task_rows.find_by_task_ids(app.runtime.driver, task_ids)
    return [item for rows in found.values() for item in _request(app, rows[0]).errbacks or ()]


def _request(app: Celery, row: JobRow) -> WorkerContext:
    call = envelope.decode(row.encoded_args, row.id)
    accept = codec.accepted_types(app.conf.accept_content)
    return WorkerContext(call, row, *read_body(call, accept))
