"""Signals about calls that a worker has before, or instead of, running their task.

They are sent by the worker's main process. Their sender is the application's runner, where Celery's is its
consumer, and `message` is the row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from river_compat.celery import signals
from river_compat.celery.exceptions import NotRegistered, UnsupportedAttribute
from river_compat.celery.refusals import unsupported_text
from river_core.decide import snooze_count
from river_core.job import JobRow

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task
    from river_compat.celery.request import Context
    from river_compat.envelope import TaskCall


class _Process:
    left_to_parent = False


def leave_to_parent() -> None:
    """Tell nothing in this process, a child: the worker's main process does."""
    _Process.left_to_parent = True


def is_left_to_parent() -> bool:
    """Whether this process is a child that tells nothing."""
    return _Process.left_to_parent


_ROW = "the worker runs the task from its row: read the request, whose river_job_id names the row"
_NOT_TOLD = (
    "acknowledge acknowledged argsrepr body cancel connection_errors content_encoding content_type eventer "
    "execute execute_using_pool groups info kwargsrepr maybe_expire message on_accepted on_ack on_failure "
    "on_reject on_retry on_success on_timeout reject revoked send_event store_errors terminate time_start "
    "tzlocal worker_pid"
)


class ReceivedRequest:
    """A call as receivers of `task_received` see it: its request, under the names of Celery's worker too."""

    def __init__(self, task: Task[..., Any], context: Context) -> None:
        """Stand for a request of `task`."""
        self.task = task
        self.context = context

    @property
    def name(self) -> str:
        """The task's name."""
        return str(self.task.name)

    task_name = name

    @property
    def task_id(self) -> str:
        """The task id."""
        return str(self.context.id)

    @property
    def request_dict(self) -> dict[str, Any]:
        """What is known of the call, as a dict."""
        self.context.get("headers")  # reads what is read when it is asked for
        return {key: value for key, value in vars(self.context).items() if not key.startswith("_")}

    @property
    def app(self) -> Any:
        """The task's application."""
        return self.task.app

    type = name

    @property
    def time_limits(self) -> tuple[Any, Any]:
        """The time limits of the call, the hard one first, in seconds."""
        return self.context.limits_of_call

    def humaninfo(self) -> str:
        """Return name and id."""
        return f"{self.name}[{self.task_id}]"

    def __getattr__(self, name: str) -> Any:
        """Read from the request; raises UnsupportedAttribute for what only Celery's worker needs."""
        try:
            return getattr(self.context, name)
        except AttributeError:
            if name in _NOT_TOLD.split():
                raise UnsupportedAttribute(unsupported_text(f"Request.{name}", _ROW)) from None
            raise

    def __repr__(self) -> str:
        """Show name and id."""
        return f"<Request: {self.humaninfo()}>"


def tell_received(sender: Any, task: Task[..., Any], context: Context) -> None:
    """Send `task_received`."""
    if signals.task_received.receivers and not _Process.left_to_parent:
        signals.task_received.send(sender, request=ReceivedRequest(task, context))


def tell_revoked(
    task: Task[..., Any],
    context: Context,
    *,
    terminated: bool = False,
    signum: int | None = None,
    expired: bool = False,
) -> None:
    """Send `task_revoked`."""
    if signals.task_revoked.receivers:
        signals.task_revoked.send(
            task, request=context, terminated=terminated, signum=signum, expired=expired
        )


def tell_unknown(sender: Any, call: TaskCall, row: JobRow) -> None:
    """Send `task_unknown` for a row whose task is not registered, at the first look at it."""
    if signals.task_unknown.receivers and not _Process.left_to_parent and not snooze_count(row):
        error = NotRegistered(call.name)
        signals.task_unknown.send(sender, message=row, exc=error, name=call.name, id=call.id)


def tell_rejected(sender: Any, row: JobRow, error: BaseException) -> None:
    """Send `task_rejected` for a row that holds no call that can be read."""
    if signals.task_rejected.receivers and not _Process.left_to_parent:
        signals.task_rejected.send(sender, message=row, exc=error)
