"""The log lines of runs, in Celery's words, to the logger `celery.app.trace`.

Arguments are written only where a format asks for them, and then as the call shows them (`argsrepr`).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

from river_compat.celery.exceptions import Ignore, Reject
from river_compat.shortened import short_repr

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task
    from river_compat.celery.einfo import ExceptionInfo
    from river_compat.celery.request import Context

LOG_RECEIVED = "Task %(name)s[%(id)s] received"
LOG_SUCCESS = "Task %(name)s[%(id)s] succeeded in %(runtime).6fs: %(return_value)s"
LOG_FAILURE = "Task %(name)s[%(id)s] %(description)s: %(exc)s"
LOG_INTERNAL_ERROR = "Task %(name)s[%(id)s] %(description)s: %(exc)s"
LOG_IGNORED = "Task %(name)s[%(id)s] %(description)s"
LOG_REJECTED = "Task %(name)s[%(id)s] %(exc)s"
LOG_RETRY = "Task %(name)s[%(id)s] retry: %(exc)s"

logger = logging.getLogger("celery.app.trace")


class LogPolicy(NamedTuple):
    """How an exception is logged; `mail` is Celery's and means nothing any more."""

    format: str
    description: str
    severity: int
    traceback: bool
    mail: bool


log_policy_reject = LogPolicy(LOG_REJECTED, "rejected", logging.WARNING, True, True)
log_policy_ignore = LogPolicy(LOG_IGNORED, "ignored", logging.INFO, False, False)
log_policy_internal = LogPolicy(LOG_INTERNAL_ERROR, "INTERNAL ERROR", logging.CRITICAL, True, True)
log_policy_expected = LogPolicy(LOG_FAILURE, "raised expected", logging.INFO, False, False)
log_policy_unexpected = LogPolicy(LOG_FAILURE, "raised unexpected", logging.ERROR, True, True)


def get_log_policy(task: Task[..., Any], einfo: Any, exc: BaseException) -> LogPolicy:
    """Return how an exception of a task is logged."""
    if isinstance(exc, Reject):
        return log_policy_reject
    if isinstance(exc, Ignore):
        return log_policy_ignore
    if einfo.internal:
        return log_policy_internal
    expected = bool(task.throws) and isinstance(exc, tuple(task.throws))
    return log_policy_expected if expected else log_policy_unexpected


def get_task_name(request: Context, default: str) -> str:
    """Return the name that log lines show: the call's `shadow`, or the task's own."""
    shadow: str | None = request.shadow
    return shadow or default


def log_success(
    task: Task[..., Any], task_id: str, request: Context, value: Any, runtime: float | None, text: str
) -> None:
    """Log a success."""
    if logger.isEnabledFor(logging.INFO):
        shown = short_repr(value, task.resultrepr_maxsize)
        data = _data(task, task_id, request, text, return_value=shown, runtime=runtime)
        logger.info(text, data, extra={"data": data})


def log_retry(task: Task[..., Any], task_id: str, request: Context, retry: BaseException, text: str) -> None:
    """Log that a task will run again."""
    if logger.isEnabledFor(logging.INFO):
        data = _data(task, task_id, request, text, exc=str(retry))
        logger.info(text, data, extra={"data": data})


def log_error(
    task: Task[..., Any], task_id: str, request: Context, error: BaseException, einfo: ExceptionInfo
) -> None:
    """Log an exception that ended a run."""
    policy = get_log_policy(task, einfo, error)
    if not logger.isEnabledFor(policy.severity):
        return
    data = _data(
        task,
        task_id,
        request,
        policy.format,
        hostname=request.hostname,
        exc=short_repr(error),
        traceback=einfo.traceback,
        description=policy.description,
        internal=einfo.internal,
    )
    exc_info = einfo.exc_info if policy.traceback else None
    logger.log(policy.severity, policy.format, data, extra={"data": data}, exc_info=exc_info)


def _data(task: Task[..., Any], task_id: str, request: Context, text: str, **facts: Any) -> dict[str, Any]:
    data = {"id": task_id, "name": get_task_name(request, task.name), **facts}
    if "%(args)" in text or "%(kwargs)" in text:
        data["args"] = request.get("argsrepr") or short_repr(request.args)
        data["kwargs"] = request.get("kwargsrepr") or short_repr(request.kwargs)
    return data
