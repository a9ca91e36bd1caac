"""`AsyncResult`: the handle of a task that was sent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from river_compat.celery import _state, states
from river_compat.celery.backend import Meta, Rows
from river_compat.celery.exceptions import LATER, TimeoutError, unsupported  # noqa: A004 - Celery's own
from river_compat.celery.joining import assert_will_not_block
from river_compat.celery.pending import check_visible

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.backend import RowBackend

R = TypeVar("R")

SLOW_POLL_SECONDS = 1.0
UNKNOWN_ROW = 0
"""Stands for the row of a task that has none yet; no row has this id."""


class AsyncResult(Generic[R]):
    """The result of a task that was sent, known by the task's id."""

    TimeoutError = TimeoutError

    app: Any = None

    def __init__(
        self,
        id: str,  # noqa: A002 - the parameter is Celery's
        backend: RowBackend | None = None,
        task_name: str | None = None,
        app: Celery | None = None,
        parent: AsyncResult[Any] | None = None,
    ) -> None:
        """Take the task's id; raises ValueError for None."""
        if id is None:
            raise ValueError("a result needs the id of its task, not None")
        self.id = id
        self.app = app or self.app or _state.get_current_app()
        self.backend: RowBackend = backend or self.app.backend
        self.parent = parent
        self.ignored = False
        self._cache: Meta | None = None
        self._row_id: int | None = None
        self._joined: Any = None
        self._before: Any = None

    def attach(self, row_id: int | None, joined: Any) -> None:
        """Know the row, if it exists yet, and whose transaction it was inserted in, if anybody's."""
        self._row_id = row_id
        self._joined = joined

    # -- reading

    def _rows(self) -> Rows | None:
        """Read the newest row, and remember which it is."""
        rows = self.backend.find(self.id, self._row_id, self._before)
        if rows is not None:
            self._joined = None
            self._row_id, self._before = rows.newest.id, rows.before
        return rows

    def _get_task_meta(self) -> Meta:
        return self._cache or self._read(self._rows())

    def _read(self, rows: Rows | None) -> Meta:
        meta = self.backend.meta_of(self.id, rows)
        if meta["status"] in states.READY_STATES:
            self._cache = meta
        return meta

    @property
    def state(self) -> str:
        """PENDING (also for an unknown id), STARTED, RETRY, SUCCESS, FAILURE, REVOKED or a state of yours."""
        status: str = self._get_task_meta()["status"]
        return status

    status = state

    @property
    def result(self) -> Any:
        """The return value, the exception, or the facts of a custom state; None while there is nothing."""
        return self._get_task_meta()["result"]

    info = result

    @property
    def traceback(self) -> str | None:
        """The text of the traceback of a task that failed or is to be retried."""
        text: str | None = self._get_task_meta().get("traceback")
        return text

    @property
    def children(self) -> Any:
        """Results of the tasks that the task has sent."""
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

    @property
    def task_id(self) -> str:
        """The id, under its old name."""
        return self.id

    @task_id.setter
    def task_id(self, id: str) -> None:  # noqa: A002
        self.id = id

    def ready(self) -> bool:
        """Whether the task has ended."""
        return self.state in states.READY_STATES

    def successful(self) -> bool:
        """Whether the task has ended well."""
        return self.state == states.SUCCESS

    def failed(self) -> bool:
        """Whether the task has failed; a revoked one has not."""
        return self.state == states.FAILURE

    def exists(self) -> bool:
        """Whether the task is known: waiting, running or finished and not forgotten."""
        return self.backend.find(self.id, self._row_id) is not None

    # -- waiting

    def get(
        self,
        timeout: float | None = None,
        propagate: bool = True,
        interval: float = 0.5,
        no_ack: bool = True,
        follow_parents: bool = True,
        callback: Callable[[str, Any], Any] | None = None,
        on_message: Callable[[Meta], Any] | None = None,
        on_interval: Callable[[], Any] | None = None,
        disable_sync_subtasks: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Wait for the task and return its value, or raise its exception.

        `timeout` is in seconds; `propagate=False` returns the exception. None at once for a task
        whose result is ignored. Raises TimeoutError; RuntimeError inside a task, and inside the open
        transaction in which the task was sent.
        """
        if self.ignored:
            return None
        if disable_sync_subtasks:
            assert_will_not_block()
        if follow_parents and propagate:
            self._raise_of_parents()
        meta = self._cache or self._wait(timeout, interval, on_interval)
        if on_message is not None:
            on_message(meta)
        return self.maybe_throw(propagate, callback)

    wait = get

    def _wait(self, timeout: float | None, interval: float, on_interval: Callable[[], Any] | None) -> Meta:
        deadline = None if timeout is None else time.monotonic() + timeout
        meta = self._look()
        if meta is None:
            self.app.runtime.client.flush_notifications()
        while meta is None:
            row_id = self._row_id or UNKNOWN_ROW
            self.app.runtime.client.flush_notifications()
            waiter = self.app.runtime.waiter
            with waiter.subscription(row_id) as event:
                while (meta := self._look()) is None and row_id == (self._row_id or UNKNOWN_ROW):
                    wakes = self._row_id and not waiter.poll_only
                    self._pause(event, deadline, SLOW_POLL_SECONDS if wakes else interval)
                    if on_interval is not None:
                        on_interval()
        return meta

    def _look(self) -> Meta | None:
        """Return what is known of a task that has ended, else None."""
        rows = self._rows()
        if rows is None:
            check_visible(self.id, self._joined)
        meta = self._read(rows)
        return meta if meta["status"] in states.READY_STATES else None

    def _pause(self, event: Any, deadline: float | None, seconds: float) -> None:
        if deadline is not None:
            seconds = min(deadline - time.monotonic(), seconds)
            if seconds <= 0:
                raise TimeoutError("The operation timed out.")
        event.wait(seconds)
        event.clear()

    def _raise_of_parents(self) -> None:
        for parent in reversed(list(self._parents())):
            parent.maybe_throw()

    def _parents(self) -> Iterator[AsyncResult[Any]]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def maybe_throw(self, propagate: bool = True, callback: Callable[[str, Any], Any] | None = None) -> Any:
        """Raise the exception of a task that failed or was revoked; return the value of another one."""
        meta = self._get_task_meta()
        value = meta["result"]
        if meta["status"] in states.PROPAGATE_STATES and propagate:
            raise value
        if callback is not None:
            callback(self.id, value)
        return value

    maybe_reraise = maybe_throw

    def forget(self) -> None:
        """Delete what is stored of the finished task, and of its parents."""
        self._cache = None
        if self.parent is not None:
            self.parent.forget()
        self.backend.forget(self.id)

    def revoke(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: revoking is not implemented yet."""
        raise unsupported(
            "AsyncResult.revoke()", f"{LATER}; cancel the row with river_core's Client.job_cancel"
        )

    def then(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: promises are not implemented yet."""
        raise unsupported("AsyncResult.then()", f"{LATER}; call get()")

    # -- being a value

    def as_tuple(self) -> Any:
        """Return id and parents as nested tuples."""
        return (self.id, self.parent and self.parent.as_tuple()), None

    def as_list(self) -> list[str]:
        """Return the id and those of the parents."""
        return [self.id, *(self.parent.as_list() if self.parent is not None else ())]

    def __str__(self) -> str:
        """Return the id."""
        return str(self.id)

    def __repr__(self) -> str:
        """Show the id."""
        return f"<{type(self).__name__}: {self.id}>"

    def __hash__(self) -> int:
        """Hash the id."""
        return hash(self.id)

    def __eq__(self, other: object) -> bool:
        """Be equal to a handle of the same id and to the id itself."""
        if isinstance(other, AsyncResult):
            return bool(other.id == self.id)
        return other == self.id if isinstance(other, str) else NotImplemented

    def __copy__(self) -> AsyncResult[R]:
        """Copy the handle, not what it has read."""
        return restore(self.id, self._row_id, self.ignored, self.parent, type(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle id, row id and parents; the application is the current one of the reader."""
        return restore, (self.id, self._row_id, self.ignored, self.parent)


def restore(
    id: str,  # noqa: A002
    row_id: int | None,
    ignored: bool,
    parent: AsyncResult[Any] | None,
    cls: type[AsyncResult[Any]] = AsyncResult,
) -> AsyncResult[Any]:
    """Make a handle again from its parts."""
    result = cls(id, parent=parent)
    result.ignored = ignored
    if row_id is not None:
        result.attach(row_id, None)
    return result
