"""What all results have in common: a parent, and being read from the facts of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from river_compat.celery import states
from river_compat.celery.result_ready import OnReady

if TYPE_CHECKING:
    from river_compat.celery.row_meta import Meta


class ResultBase:
    """Base of every result; `parent` is the result of the step before, in a chain."""

    parent: Any = None

    @property
    def on_ready(self) -> OnReady:
        """What is called once the result is there, by its `then`."""
        return OnReady(self)

    def as_tuple(self) -> Any:
        """Return what `result_from_tuple` makes the result of again."""
        raise TypeError(f"{type(self).__name__} has no tuple")


class TaskFacts(ResultBase):
    """Reads state and facts of one task from what `_get_task_meta` returns."""

    def _get_task_meta(self) -> Meta:
        raise TypeError(f"{type(self).__name__} does not say where its facts are")

    @property
    def state(self) -> str:
        """PENDING (also for an unknown id), STARTED, RETRY, SUCCESS, FAILURE, REVOKED or a state of yours."""
        status: str = self._get_task_meta()["status"]
        return status

    @property
    def status(self) -> str:
        """The state, under its other name."""
        return self.state

    def ready(self) -> bool:
        """Whether the task has ended."""
        return self.state in states.READY_STATES

    def successful(self) -> bool:
        """Whether the task has ended well."""
        return self.state == states.SUCCESS

    def failed(self) -> bool:
        """Whether the task has failed; a revoked one has not."""
        return self.state == states.FAILURE

    @property
    def result(self) -> Any:
        """The return value, the exception, or the facts of a custom state; None while there is nothing."""
        return self._get_task_meta().get("result")

    @property
    def info(self) -> Any:
        """The result, under its other name."""
        return self.result

    @property
    def traceback(self) -> str | None:
        """The text of the traceback of a task that failed or is to be retried."""
        text: str | None = self._get_task_meta().get("traceback")
        return text

    @property
    def children(self) -> Any:
        """Results of the tasks that the task has sent, None for none."""
        return self._get_task_meta().get("children")

    @property
    def name(self) -> Any:
        """The task's name."""
        return self._get_task_meta().get("name")

    @property
    def args(self) -> Any:
        """The positional arguments of the call."""
        return self._get_task_meta().get("args")

    @property
    def kwargs(self) -> Any:
        """The keyword arguments of the call."""
        return self._get_task_meta().get("kwargs")

    @property
    def worker(self) -> Any:
        """The id of the worker that ran the task last."""
        return self._get_task_meta().get("worker")

    @property
    def retries(self) -> Any:
        """How often the task was retried."""
        return self._get_task_meta().get("retries")

    @property
    def queue(self) -> Any:
        """The queue of the task."""
        return self._get_task_meta().get("queue")

    @property
    def date_done(self) -> Any:
        """When the task ended, aware, in UTC."""
        return self._get_task_meta().get("date_done")
