"""`EagerResult`: the result of a task that has run already."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar

from river_compat.celery import states
from river_compat.celery.async_result import AsyncResult
from river_compat.celery.exceptions import TaskRevokedError
from river_compat.celery.joining import assert_will_not_block
from river_compat.celery.result_promise import Promise

if TYPE_CHECKING:
    from river_compat.celery.row_meta import Meta

R = TypeVar("R")


class EagerResult(AsyncResult[R]):
    """The result of a task that has run already, in this process. No database is asked."""

    def __init__(
        self,
        id: str,  # noqa: A002
        ret_value: Any,
        state: str,
        traceback: str | None = None,
        name: str | None = None,
    ) -> None:
        """Take what the run gave."""
        self.id = id
        self._ignored = False
        self._cache = self._facts(ret_value, state, traceback, name)

    def _facts(self, value: Any, state: str, traceback: str | None, name: str | None) -> Meta:
        return {"task_id": self.id, "status": state, "result": value, "traceback": traceback, "name": name}

    def _get_task_meta(self) -> Meta:
        return self._cache or {}

    @property
    def supports_native_join(self) -> bool:
        """False: there is nothing to read."""
        return False

    def ready(self) -> bool:
        """Return True: the run is over, in whatever state."""
        return True

    def exists(self) -> bool:
        """Return True."""
        return True

    def get(  # type: ignore[override]  # the order of Celery's EagerResult
        self,
        timeout: float | None = None,
        propagate: bool = True,
        disable_sync_subtasks: bool = True,
        *,
        callback: Callable[[str, Any], Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the value, or raise the exception of a task that failed or was revoked; None else.

        `callback` is called with id and value. The other keywords of `AsyncResult.get` are not needed.
        """
        if disable_sync_subtasks:
            assert_will_not_block()
        if self.successful() or self.state in states.PROPAGATE_STATES:
            return self.maybe_throw(propagate, callback)
        return None

    def maybe_throw(self, propagate: bool = True, callback: Callable[[str, Any], Any] | None = None) -> Any:
        """Raise the exception of a task that failed or was revoked; return the value of another one."""
        value = self.result
        if self.state in states.PROPAGATE_STATES and propagate:
            raise value if isinstance(value, Exception) else Exception(value)
        if callback is not None:
            callback(self.id, value)
        return value

    maybe_reraise = maybe_throw

    def then(
        self, callback: Callable[[Any], Any], on_error: Callable[..., Any] | None = None, weak: bool = False
    ) -> Promise:
        """Call `callback` with this result, now."""
        return Promise(self, callback, on_error).watch([])

    def __await__(self) -> Generator[Any, Any, Any]:
        """Return the value, or raise the exception, without waiting."""
        return self.get()
        yield  # what makes it a generator, as awaiting demands

    def forget(self) -> None:
        """Do nothing: nothing is stored."""

    def revoke(self, *args: Any, **kwargs: Any) -> None:
        """Mark the result as revoked; its value gives way to a TaskRevokedError."""
        self._cache = self._facts(TaskRevokedError("revoked"), states.REVOKED, None, self.name)

    def __copy__(self) -> EagerResult[R]:
        """Copy the result with its value."""
        cls, parts = self.__reduce__()
        copied: EagerResult[R] = cls(*parts)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values."""
        return type(self), (self.id, self.result, self.state, self.traceback, self.name)

    def __repr__(self) -> str:
        """Show the id."""
        return f"<EagerResult: {self.id}>"
