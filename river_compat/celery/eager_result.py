"""`EagerResult`: the result of a task that has run already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from river_compat.celery import states
from river_compat.celery.async_result import AsyncResult
from river_compat.celery.backend import Meta
from river_compat.celery.joining import assert_will_not_block

R = TypeVar("R")


class EagerResult(AsyncResult[R]):
    """The result of a task that has run already, in this process."""

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
        self.parent = None
        self.ignored = False
        self._meta_of_run: Meta = {
            "status": state,
            "result": ret_value,
            "traceback": traceback,
            "name": name,
            "children": None,
        }

    def _get_task_meta(self) -> Meta:
        return self._meta_of_run

    def ready(self) -> bool:
        """Return True."""
        return True

    def exists(self) -> bool:
        """Return True."""
        return True

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
        """Return the value, or raise the exception of a task that failed or was revoked."""
        if disable_sync_subtasks:
            assert_will_not_block()
        if self.successful():
            return self.result
        if self.state not in states.PROPAGATE_STATES:
            return None
        if propagate:
            raise self.result if isinstance(self.result, Exception) else Exception(self.result)
        return self.result

    wait = get

    def forget(self) -> None:
        """Do nothing: nothing is stored."""

    def revoke(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]  # it can be done here
        """Mark the result as revoked."""
        self._meta_of_run["status"] = states.REVOKED

    def __repr__(self) -> str:
        """Show the id."""
        return f"<EagerResult: {self.id}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values."""
        meta = self._meta_of_run
        return EagerResult, (self.id, meta["result"], meta["status"], meta["traceback"], meta["name"])
