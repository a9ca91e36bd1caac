"""`AsyncResult`: the handle of a task that was sent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from river_compat.celery import _state, states
from river_compat.celery.exceptions import TimeoutError  # noqa: A004 - Celery's own
from river_compat.celery.joining import assert_will_not_block
from river_compat.celery.remote_traceback import remote_traceback
from river_compat.celery.result_promise import Promise, awaited
from river_compat.celery.result_rows import Rows, Wanted
from river_compat.celery.result_tree import ResultTree
from river_compat.celery.result_waiting import wait_for

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.backend import RowBackend
    from river_compat.celery.row_meta import Meta
    from river_core.job import JobRow

R = TypeVar("R")


class AsyncResult(ResultTree, Generic[R]):
    """The result of a task that was sent, known by the task's id."""

    TimeoutError = TimeoutError

    app: Any = None
    backend: Any = None

    def __init__(
        self,
        id: str,  # noqa: A002 - the parameter is Celery's
        backend: RowBackend | None = None,
        task_name: str | None = None,
        app: Celery | None = None,
        parent: Any = None,
    ) -> None:
        """Take the task's id; raises ValueError for None."""
        if id is None:
            raise ValueError("a result needs the id of its task, not None")
        self.id = id
        self.app = app or self.app or _state.get_current_app()
        self.backend = backend or self.app.backend
        self.parent = parent
        self._ignored = False
        self._cache: Meta | None = None
        self._glance: Meta | None = None
        self._row_id: int | None = None
        self._before: JobRow | None = None
        self.joined: Any = None
        """Whose transaction the task was sent in, until its row was seen."""
        self.sent_at = -math.inf
        """When the row was inserted, by the monotonic clock, if that was here and committed at once."""

    def attach(self, row_id: int | None, joined: Any) -> None:
        """Know the row, if it exists yet, and whose transaction it was inserted in, if anybody's."""
        self._row_id = row_id
        self.joined = joined
        if row_id is not None and joined is None:
            self.sent_at = time.monotonic()

    @property
    def ignored(self) -> bool:
        """Whether the task was sent with `ignore_result`, so that `get` does not wait."""
        return getattr(self, "_ignored", False)

    @ignored.setter
    def ignored(self, value: bool) -> None:
        self._ignored = value

    @property
    def task_id(self) -> str:
        """The id, under its old name."""
        return self.id

    @task_id.setter
    def task_id(self, id: str) -> None:  # noqa: A002
        self.id = id

    @property
    def supports_native_join(self) -> bool:
        """Whether many results are read at once."""
        return bool(self.backend.supports_native_join)

    # -- reading

    @property
    def awaited_row(self) -> int | None:
        """The row whose end is the task's, as far as it is known."""
        return self._row_id

    def wanted(self) -> Wanted:
        """Return how the task's rows are found."""
        return Wanted(self.id, self._row_id, self._before)

    def note(self, rows: Rows | None, meta: Meta) -> Meta:
        """Remember which row is the newest and, once the task has ended, what it says."""
        if rows is not None:
            self.joined = None
            self._row_id, self._before = rows.newest.id, rows.before
        if meta["status"] in states.READY_STATES:
            self._cache = meta
        return meta

    def glance(self, meta: Meta | None) -> None:
        """Answer from what was read for a whole set, until that is taken back by None."""
        self._glance = meta

    def _get_task_meta(self) -> Meta:
        if self._cache is not None or self._glance is not None:
            return self._cache or self._glance or {}
        return next(meta for _, meta in self.backend.read_many([self]))

    def exists(self) -> bool:
        """Whether the task is known: waiting, running or finished and not forgotten."""
        return bool(self.backend.knows(self.wanted()))

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

        `timeout` is in seconds, 0 looks once; `propagate=False` returns the exception. Of a task that failed
        because one before it in its workflow did, the exception of that one is raised, unless
        `follow_parents` is off. None at once for a task whose result is ignored. `on_interval` is called
        every `interval` seconds. Raises TimeoutError; RuntimeError inside a task, and inside the open
        transaction in which the task was sent.
        """
        if self.ignored:
            return None
        if disable_sync_subtasks:
            assert_will_not_block()
        if follow_parents and propagate:
            self._raise_of_parents()
        if self._cache is None:
            wait_for(self.app.runtime, self.backend.look, [self], timeout, interval, on_interval)
        if on_message is not None:
            on_message(self._get_task_meta())
        if follow_parents and propagate and self._get_task_meta()["status"] in states.PROPAGATE_STATES:
            self._raise_of_parents()
        return self.maybe_throw(propagate, callback)

    def wait(self, *args: Any, **kwargs: Any) -> Any:
        """As `get`, under its old name."""
        return self.get(*args, **kwargs)

    def _raise_of_parents(self) -> None:
        for parent in reversed(list(self._parents())):
            parent.maybe_throw()

    def maybe_throw(self, propagate: bool = True, callback: Callable[[str, Any], Any] | None = None) -> Any:
        """Raise the exception of a task that failed or was revoked; return the value of another one."""
        meta = self._get_task_meta()
        value = meta.get("result")
        if meta["status"] in states.PROPAGATE_STATES and propagate:
            error = value if isinstance(value, BaseException) else Exception(value)
            trace = remote_traceback(self.app, meta.get("traceback"))
            self.throw(error, trace)
        if callback is not None:
            callback(self.id, value)
        return value

    maybe_reraise = maybe_throw

    def throw(self, *args: Any, **kwargs: Any) -> None:
        """Raise an exception with a traceback of another place; see `on_ready.throw`."""
        self.on_ready.throw(*args, **kwargs)

    def then(
        self, callback: Callable[[Any], Any], on_error: Callable[..., Any] | None = None, weak: bool = False
    ) -> Promise:
        """Call `callback` with this result once the task has ended; nobody needs to call `get`.

        It runs in a thread of the library's own, so it should be quick. `on_error` is called with the
        exception when waiting was in vain.
        """
        return Promise(self, callback, on_error).watch([self])

    def __await__(self) -> Generator[Any, Any, Any]:
        """Wait in a coroutine, without a thread, and return the value or raise the exception."""
        return awaited(self).__await__()

    # -- acting on the task

    def forget(self) -> None:
        """Delete what is stored of the finished task, and of its parents."""
        self._cache = None
        if self.parent is not None:
            self.parent.forget()
        self.backend.forget(self.id)

    def revoke(
        self,
        connection: Any = None,
        terminate: bool = False,
        signal: str | None = None,
        wait: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Let no worker run the task; `terminate` also ends a run that has begun.

        `wait` waits up to `timeout` seconds for the workers' answers.
        """
        self.app.control.revoke(
            self.id, connection=connection, terminate=terminate, signal=signal, reply=wait, timeout=timeout
        )

    def revoke_by_stamped_headers(
        self,
        headers: dict[str, Any],
        connection: Any = None,
        terminate: bool = False,
        signal: str | None = None,
        wait: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Revoke the tasks whose stamps have all of these values; the parameters are those of `revoke`."""
        self.app.control.revoke_by_stamped_headers(
            headers, connection=connection, terminate=terminate, signal=signal, reply=wait, timeout=timeout
        )

    # -- being a value

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
        made = type(self)(self.id, self.backend, app=self.app, parent=self.parent)
        return _with_parts(made, self._row_id, self.ignored)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle id, row id and parents; the application is the current one of the reader."""
        return restore, (self.id, self._row_id, self.ignored, self.parent)


def restore(
    id: str,  # noqa: A002
    row_id: int | None,
    ignored: bool,
    parent: Any,
) -> AsyncResult[Any]:
    """Make a handle again from its parts."""
    return _with_parts(AsyncResult(id, parent=parent), row_id, ignored)


def _with_parts(result: AsyncResult[R], row_id: int | None, ignored: bool) -> AsyncResult[R]:
    result.ignored = ignored
    result._row_id = row_id
    return result
