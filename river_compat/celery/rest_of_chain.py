"""`request.chain`: the steps after a running one, read from their rows when somebody asks."""

from __future__ import annotations

from typing import Any

from river_compat import codec, envelope
from river_compat.call_body import read_body
from river_compat.celery import _state
from river_compat.celery.waiting_step import LIST, takes
from river_core import task_rows
from river_core.job import JobRow
from river_core.links import feeds_of

MAX_STEPS = 1_000


def rest_of_chain(row: JobRow) -> list[dict[str, Any]] | None:
    """Return the signatures of the steps after a row's, the last one first; None where there are none.

    The steps end before the next group, since what follows it waits for others as well.
    """
    app = _state.get_current_app()
    accept = codec.accepted_types(app.conf.accept_content)
    steps: list[dict[str, Any]] = []
    while len(targets := feeds_of(row.metadata)) == 1 and len(steps) < MAX_STEPS:
        following = task_rows.get_row(app.runtime.driver, targets[0][0])
        if following is None:
            break
        call = envelope.decode(following.encoded_args, following.id)
        if takes(call) == LIST:
            break
        body = read_body(call, accept)
        steps.append(
            {
                "task": call.name,
                "args": tuple(body[0]),
                "kwargs": body[1],
                "options": {"task_id": call.id},
                "subtask_type": None,
                "immutable": takes(call) is None,
            }
        )
        row = following
    return steps[::-1] or None
