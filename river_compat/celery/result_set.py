"""`ResultSet`: many results as one, read in one query and waited for together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state, states
from river_compat.celery.async_result import AsyncResult
from river_compat.celery.eager_result import EagerResult
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.joining import assert_will_not_block
from river_compat.celery.result_base import ResultBase
from river_compat.celery.result_promise import Promise
from river_compat.celery.result_waiting import wait_for

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.row_meta import Meta


class ResultSet(ResultBase):
    """Several results. Members may be results of tasks, eager ones, and groups."""

    _app: Any = None

    def __init__(
        self, results: Iterable[Any] | None = None, app: Celery | None = None, **kwargs: Any
    ) -> None:
        """Take the results; the application is that of the first one unless it is given."""
        self._app = app or self._app
        self.results: list[Any] = results if isinstance(results, list) else list(results or ())

    @property
    def app(self) -> Any:
        """The application of the first member, or the current one."""
        if self._app is None:
            self._app = self.results[0].app if self.results else _state.get_current_app()
        return self._app

    @app.setter
    def app(self, app: Celery) -> None:
        self._app = app

    @property
    def backend(self) -> Any:
        """The backend of the application."""
        return self.app.backend

    @property
    def supports_native_join(self) -> bool | None:
        """Whether members are read together; None for an empty set."""
        return self.results[0].supports_native_join if self.results else None

    # -- members

    def add(self, result: Any) -> None:
        """Add a result, unless it is a member."""
        if result not in self.results:
            self.results.append(result)

    def remove(self, result: Any) -> None:
        """Remove a member, given as result or id; raises KeyError for another one."""
        try:
            self.results.remove(result)
        except ValueError:
            raise KeyError(result) from None

    def discard(self, result: Any) -> None:
        """Remove a member, given as result or id; another one is left alone."""
        if result in self.results:
            self.results.remove(result)

    def update(self, results: Iterable[Any]) -> None:
        """Add those that are no members."""
        for result in results:
            self.add(result)

    def clear(self) -> None:
        """Remove all members."""
        self.results[:] = []

    def _tasks(self) -> list[AsyncResult[Any]]:
        """Return the results of single tasks, those of groups in groups too."""
        found: list[AsyncResult[Any]] = []
        for result in self.results:
            if isinstance(result, ResultSet):
                found.extend(result._tasks())
            elif isinstance(result, AsyncResult) and not isinstance(result, EagerResult):
                found.append(result)
        return found

    @contextmanager
    def _read_together(self) -> Iterator[None]:
        """Let all members answer from one query while the block runs."""
        asked = [task for task in self._tasks() if task._cache is None]
        for task, meta in self.backend.read_many(asked) if asked else ():
            task.glance(meta)
        try:
            yield
        finally:
            for task in asked:
                task.glance(None)

    # -- states

    def successful(self) -> bool:
        """Whether all have ended well."""
        with self._read_together():
            return all(result.successful() for result in self.results)

    def failed(self) -> bool:
        """Whether any has failed."""
        with self._read_together():
            return any(result.failed() for result in self.results)

    def waiting(self) -> bool:
        """Whether any has not ended."""
        with self._read_together():
            return any(not result.ready() for result in self.results)

    def ready(self) -> bool:
        """Whether all have ended."""
        with self._read_together():
            return all(result.ready() for result in self.results)

    def completed_count(self) -> int:
        """Return how many have ended well."""
        with self._read_together():
            return sum(int(result.successful()) for result in self.results)

    def maybe_throw(self, callback: Callable[[str, Any], Any] | None = None, propagate: bool = True) -> None:
        """Raise the exception of the first member that failed."""
        with self._read_together():
            for result in self.results:
                result.maybe_throw(callback=callback, propagate=propagate)

    maybe_reraise = maybe_throw

    # -- values

    def get(
        self,
        timeout: float | None = None,
        propagate: bool = True,
        interval: float = 0.5,
        callback: Callable[[str, Any], Any] | None = None,
        no_ack: bool = True,
        on_message: Callable[[Meta], Any] | None = None,
        disable_sync_subtasks: bool = True,
        on_interval: Callable[[], Any] | None = None,
    ) -> Any:
        """Wait for all and return their values in the order of the members.

        With `callback` each is handed to it, as id and value, as it ends, and nothing is returned. The first failure
        is raised as soon as it is known, the others go on; with `propagate=False` exceptions are values.
        Raises TimeoutError after `timeout` seconds, RuntimeError inside a task.
        """
        join = self.join_native if self.supports_native_join else self.join
        return join(
            timeout=timeout,
            propagate=propagate,
            interval=interval,
            callback=callback,
            no_ack=no_ack,
            on_message=on_message,
            disable_sync_subtasks=disable_sync_subtasks,
            on_interval=on_interval,
        )

    def join(
        self,
        timeout: float | None = None,
        propagate: bool = True,
        interval: float = 0.5,
        callback: Callable[[str, Any], Any] | None = None,
        no_ack: bool = True,
        on_message: Callable[[Meta], Any] | None = None,
        disable_sync_subtasks: bool = True,
        on_interval: Callable[[], Any] | None = None,
    ) -> list[Any]:
        """As `get`, one member after the other: a failure is raised once those before it have ended.

        Returns an empty list when there is a `callback`. Raises ImproperlyConfigured for `on_message`.
        """
        if disable_sync_subtasks:
            assert_will_not_block()
        if on_message is not None:
            raise ImproperlyConfigured("join() takes no on_message; use get()")
        deadline = None if timeout is None else time.monotonic() + timeout
        self._read_all_once()
        values = []
        for result in self.results:
            value = result.get(
                timeout=None if deadline is None else max(deadline - time.monotonic(), 0.0),
                propagate=propagate,
                interval=interval,
                no_ack=no_ack,
                on_interval=on_interval,
                disable_sync_subtasks=disable_sync_subtasks,
            )
            if callback is not None:
                callback(result.id, value)
            else:
                values.append(value)
        return values

    def _read_all_once(self) -> None:
        """Let members that have ended know it by one query."""
        asked = [task for task in self._tasks() if task._cache is None]
        if len(asked) > 1:
            for _ in self.backend.look(asked):
                pass

    def join_native(
        self,
        timeout: float | None = None,
        propagate: bool = True,
        interval: float = 0.5,
        callback: Callable[[str, Any], Any] | None = None,
        no_ack: bool = True,
        on_message: Callable[[Meta], Any] | None = None,
        on_interval: Callable[[], Any] | None = None,
        disable_sync_subtasks: bool = True,
    ) -> list[Any] | None:
        """As `get`."""
        if disable_sync_subtasks:
            assert_will_not_block()
        options = {"propagate": propagate, "disable_sync_subtasks": disable_sync_subtasks}
        told: set[int] = set()

        def ended(task: AsyncResult[Any]) -> None:
            if on_message is not None:
                on_message(task._get_task_meta())
            if propagate and task.state in states.PROPAGATE_STATES:
                task.maybe_throw()
            if callback is not None and id(task) in members:
                told.add(id(task))
                callback(task.id, task.get(**options))

        members = {id(result) for result in self.results}
        self._wait(timeout, interval, on_interval, ended)
        if callback is None:
            return [result.get(**options) for result in self.results]
        for result in self.results:
            if id(result) not in told:
                callback(result.id, result.get(**options))
        return None

    def _wait(
        self,
        timeout: float | None,
        interval: float,
        on_interval: Callable[[], Any] | None,
        ended: Callable[[AsyncResult[Any]], None],
    ) -> None:
        """Wait for all single tasks together, and tell of each as it ends."""
        tasks = [task for task in self._tasks() if not task.ignored]
        open_ends = [task for task in tasks if task._cache is None]
        for task in tasks:
            if task._cache is not None:
                ended(task)
        if open_ends:
            wait_for(self.app.runtime, self.backend.look, open_ends, timeout, interval, on_interval, ended)

    def iter_native(
        self,
        timeout: float | None = None,
        interval: float = 0.5,
        no_ack: bool = True,
        on_message: Callable[[Meta], Any] | None = None,
        on_interval: Callable[[], Any] | None = None,
    ) -> Iterator[tuple[str, Any]]:
        """Wait for all and give id and facts of each; of a group among them its list of results."""

        def ended(task: AsyncResult[Any]) -> None:
            if on_message is not None:
                on_message(task._get_task_meta())

        self._wait(timeout, interval, on_interval, ended)
        return iter([(result.id, _facts(result)) for result in self.results])

    def then(
        self, callback: Callable[[Any], Any], on_error: Callable[..., Any] | None = None, weak: bool = False
    ) -> Promise:
        """Call `callback` with this set once all have ended; see `AsyncResult.then`."""
        return Promise(self, callback, on_error).watch(self._tasks())

    # -- acting on the tasks

    def forget(self) -> None:
        """Delete what is stored of the finished tasks."""
        for result in self.results:
            result.forget()

    def revoke(
        self,
        connection: Any = None,
        terminate: bool = False,
        signal: str | None = None,
        wait: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Revoke all tasks by one request; the parameters are those of `AsyncResult.revoke`."""
        self.app.control.revoke(
            [task.id for task in self._tasks()],
            connection=connection,
            terminate=terminate,
            signal=signal,
            reply=wait,
            timeout=timeout,
        )

    # -- being a sequence

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the members."""
        return iter(self.results)

    def __getitem__(self, index: Any) -> Any:
        """Return the member at a place."""
        return self.results[index]

    def __len__(self) -> int:
        """Return how many members there are."""
        return len(self.results)

    def __eq__(self, other: object) -> bool:
        """Be equal to a set of equal members in the same order."""
        return other.results == self.results if isinstance(other, ResultSet) else NotImplemented

    def __hash__(self) -> int:
        """Raise TypeError: members come and go."""
        raise TypeError(f"a {type(self).__name__} cannot be hashed")

    def __repr__(self) -> str:
        """Show the ids of the members."""
        return f"<{type(self).__name__}: [{_ids(self.results)}]>"


def _ids(results: Sequence[Any]) -> str:
    return ", ".join(str(result.id) for result in results)


def _facts(result: Any) -> Any:
    return result.results if isinstance(result, ResultSet) else result._get_task_meta()
