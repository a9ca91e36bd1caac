"""The classes of an application's own, which know it: results and workers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from river_compat.celery import async_result, group_result, result_set


class OwnClasses:
    """Subclasses that belong to one application."""

    @cached_property
    def AsyncResult(self) -> Any:  # noqa: N802 - the name is Celery's
        """The class of result handles that belong to this application."""
        return _with(async_result.AsyncResult, app=self)

    @cached_property
    def GroupResult(self) -> Any:  # noqa: N802 - the name is Celery's
        """The class of group results that belong to this application."""
        return _with(group_result.GroupResult, _app=self)

    @cached_property
    def ResultSet(self) -> Any:  # noqa: N802 - the name is Celery's
        """The class of result sets that belong to this application."""
        return _with(result_set.ResultSet, _app=self)

    @cached_property
    def WorkController(self) -> Any:  # noqa: N802 - the name is Celery's
        """The class of workers that belong to this application."""
        from river_compat.celery.worker import WorkController

        return _with(WorkController, app=self)

    @property
    def Worker(self) -> Any:  # noqa: N802 - the name is Celery's
        """The same class."""
        return self.WorkController


def _with(base: type[Any], **attributes: Any) -> type[Any]:
    return type(base.__name__, (base,), {**attributes, "__module__": base.__module__})
