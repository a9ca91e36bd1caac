"""The errbacks of a chord's body that never ran, because its header failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from river_compat import codec, envelope
from river_compat.call_body import read_body
from river_compat.celery import outgoing
from river_compat.celery.following import call_errbacks, rows_of_end
from river_compat.celery.request import Context, WorkerContext, read_headers
from river_compat.celery.waiting_step import TELLS
from river_core import task_rows

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery


def call_errbacks_of(app: Celery, request: Context, row_id: int) -> None:
    """Call or send the errbacks of a row, with its exception; nothing for a row that is gone.

    What is sent is written with the end of the task of `request`.
    """
    row = task_rows.get_row(app.runtime.driver, row_id)
    if row is None:
        return
    call = envelope.decode(row.encoded_args, row.id)
    accept = codec.accepted_types(app.conf.accept_content)
    failed = WorkerContext(call, row, *read_body(call, accept))
    told_as = read_headers(call.headers).get(TELLS)
    if isinstance(told_as, str):
        failed.load()
        failed.__dict__["id"] = told_as
    meta = app.backend.get_task_meta(call.id)
    with outgoing.collected(rows_of_end(request)):
        call_errbacks(app, failed, meta["result"], meta["traceback"] or None)
