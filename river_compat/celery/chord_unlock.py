"""Ends a chord that was sent by Celery itself: its header's results are looked at again and again.

Chords that are sent here need none of this. It is for calls that wait in an old broker.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from river_compat.celery.canvas.signature import maybe_signature
from river_compat.celery.exceptions import ChordError
from river_compat.celery.joining import allow_join_result
from river_compat.celery.result_tuples import result_from_tuple

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

logger = logging.getLogger(__name__)


def unlock(
    app: Celery,
    task: Any,
    group_id: str,
    callback: Any,
    interval: float | None = None,
    max_retries: int | None = None,
    result: Any = None,
    GroupResult: Any = None,  # noqa: N803 - Celery's name
    _chord_unlock_exchange_type: str | None = None,
    **_: Any,
) -> None:
    """Send `callback` with the values of `result` once all are there; else retry `task` after `interval` s.

    Where one has failed, the callback's result is a ChordError.
    """
    body = maybe_signature(callback, app=app)
    members = [result_from_tuple(item, app=app) for item in result or ()]
    header = (GroupResult or app.GroupResult)(group_id, members, app=app)
    if not header.ready():
        seconds = app.conf.result_chord_retry_interval if interval is None else interval
        kind = {"exchange_type": _chord_unlock_exchange_type} if _chord_unlock_exchange_type else {}
        raise task.retry(countdown=seconds, max_retries=max_retries, **kind)
    try:
        with allow_join_result():
            values = header.join(timeout=app.conf.result_chord_join_timeout, propagate=True)
    except Exception as error:  # noqa: BLE001 - whatever a member has raised
        _fail(app, body, _reason(header, error))
        return
    try:
        body.delay(values)
    except Exception as error:  # noqa: BLE001 - the chord must end
        _fail(app, body, f"Callback error: {error!r}")


def _reason(header: Any, error: BaseException) -> str:
    culprit = next(iter(header._failed_join_report()), None)
    return repr(error) if culprit is None else f"Dependency {culprit.id} raised {error!r}"


def _fail(app: Celery, body: Any, reason: str) -> None:
    logger.error("chord with the body %s failed: %s", body.id, reason)
    app.backend.fail_from_current_stack(body.id, exc=ChordError(reason))
