"""What a task that ends sets off: its callbacks after success, its errbacks after failure.

Their rows are written in the transaction that ends the task. An errback that takes more than the id of the
failed task is called where that failed, once its end is written.
"""

from __future__ import annotations

import inspect
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from river_compat.celery.outgoing import Batch
from river_compat.celery.request import Context

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

ROWS = "_rows_of_end"
"""In a request: the batch that is written with the end of its task."""

logger = logging.getLogger(__name__)


def rows_of_end(request: Context) -> Batch:
    """Return the batch that is written with the end of a request's task."""
    batch: Batch = request.__dict__.setdefault(ROWS, Batch())
    return batch


def send_callbacks(app: Celery, request: Context, value: Any) -> None:
    """Send the callbacks of a task that succeeded, with its value in front; several are one group."""
    from river_compat.celery.canvas import algebra
    from river_compat.celery.canvas.groups import group
    from river_compat.celery.canvas.signature import maybe_signature

    found = [maybe_signature(item, app=app) for item in request.callbacks or ()]
    groups = [sig for sig in found if algebra.is_group(sig)]
    singles = [sig for sig in found if not algebra.is_group(sig)]
    if len(singles) > 1:
        singles = [group(singles, app=app)]
    for sig in (*groups, *singles):
        sig.apply_async((value,), parent_id=request.id, root_id=request.root_id or request.id)


def call_errbacks(app: Celery, request: Context, error: BaseException, traceback: Any) -> None:
    """Call or send the errbacks of a task that failed. What goes wrong with them is logged."""
    call_each(send_errbacks(app, request), request, error, traceback)


def send_errbacks(app: Celery, request: Context) -> list[Any]:
    """Send those errbacks of a task that take its id; return the others, which are to be called."""
    from river_compat.celery.canvas.signature import maybe_signature

    errbacks = [maybe_signature(item, app=app) for item in request.errbacks or ()]
    to_call = [errback for errback in errbacks if takes_failure(errback)]
    to_send = [errback for errback in errbacks if errback not in to_call]
    if to_send:
        _send_errbacks(app, request, to_send)
    return to_call


def call_each(errbacks: list[Any], request: Context, error: BaseException, traceback: Any) -> None:
    """Call errbacks with request, exception and traceback. What one raises is logged."""
    for errback in errbacks:
        try:
            errback(request, error, traceback)
        except Exception:
            logger.exception("errback %s raised", errback.name)


def _send_errbacks(app: Celery, request: Context, errbacks: list[Any]) -> None:
    from river_compat.celery.canvas.groups import group

    eager = app.conf.task_always_eager or (request.delivery_info or {}).get("is_eager", False)
    whole = group(errbacks, app=app)
    options = {"parent_id": request.id, "root_id": request.root_id or request.id}
    try:
        (whole.apply if eager else whole.apply_async)((request.id,), **options)
    except Exception:
        logger.exception("the errbacks of task %s could not be sent", request.id)


def takes_failure(errback: Any) -> bool:
    """Whether an errback takes request, exception and traceback, rather than the id of the failed task.

    Bound tasks and those that are not registered here take the id.
    """
    try:
        header = getattr(errback.type, "__header__", None)
    except KeyError:
        return False
    if header is None or isinstance(header, partial):
        return False
    stored = () if errback.immutable else errback.args
    named = {} if errback.immutable else errback.kwargs
    try:
        left = inspect.signature(partial(header, *stored, **named)).parameters.values()
    except (TypeError, ValueError):
        left = inspect.signature(header).parameters.values()
    kinds = [item.kind for item in left]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Parameter.VAR_POSITIONAL in kinds or sum(kind in positional for kind in kinds) > 1
