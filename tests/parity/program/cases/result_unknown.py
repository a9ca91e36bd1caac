"""An id that nobody ever used is PENDING. Row 7.2."""

from celery.result import AsyncResult

from ..observation import new_id, raised


def observe():
    result = AsyncResult(new_id())
    return {
        "state": result.state,
        "ready": result.ready(),
        "successful": result.successful(),
        "failed": result.failed(),
        "result": repr(result.result),
        "traceback": repr(result.traceback),
        "get": raised(result.get, timeout=0.2),
    }
