"""A revoked result is ready, and neither failed nor successful. Rows 7.2, 7.3."""

from celery.result import AsyncResult

from ..app import app
from ..observation import new_id, raised


def observe():
    task_id = new_id()
    app.backend.mark_as_revoked(task_id, "by hand")
    result = AsyncResult(task_id)
    return {
        "states": [result.state, result.ready(), result.successful(), result.failed()],
        "raises": raised(result.get, timeout=1),
        "value": repr(result.get(timeout=1, propagate=False)),
    }
