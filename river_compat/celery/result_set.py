"""`ResultSet`: many results as one, read in one query and waited for together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from river_compat.celery import states
from river_compat.celery.async_result import AsyncResult
from river_compat.celery.exceptions import ImproperlyConfigured
from river_compat.celery.joining import assert_will_not_block
from river_compat.celery.result_members import Members
from river_compat.celery.result_promise import Promise
from river_compat.celery.result_waiting import wait_for

if TYPE_CHECKING:
    from river_compat.celery.row_meta import Meta


class ResultSet(Members):
    """Several results. Members may be results of tasks, eager ones, and groups."""

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

        With `callback` each is handed to it, as id and value, as it ends, and nothing is returned. The
        first failure is raised as soon as it is known, the others go on; with `propagate=False` exceptions
        are values.
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
        options: dict[str, Any] = {"propagate": propagate, "disable_sync_subtasks": disable_sync_subtasks}
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


def _facts(result: Any) -> Any:
    return result.results if isinstance(result, ResultSet) else result._get_task_meta()
