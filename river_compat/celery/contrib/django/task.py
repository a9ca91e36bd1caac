"""The base class of tasks where Django is in use (`celery.contrib.django.task`)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any, ParamSpec, TypeVar

from river_compat.celery.app.task import Task
from river_compat.celery.async_result import AsyncResult

__all__ = ["DjangoTask"]

P = ParamSpec("P")
R = TypeVar("R")


class DjangoTask(Task[P, R]):
    """A task that can be sent with the transaction of Django that is open, whatever `river_enqueue_in` says.

    Where Django's database is River's the row is written at once, as part of the transaction; else after the
    commit. The handle knows the task's id in both cases, and a rollback leaves nothing.
    """

    abstract = True

    def delay_on_commit(self, *args: P.args, **kwargs: P.kwargs) -> AsyncResult[R]:
        """Send the task with these arguments if the open transaction commits."""
        return self.apply_async_on_commit(args, kwargs)

    def apply_async_on_commit(
        self, args: Any = None, kwargs: Mapping[str, Any] | None = None, **options: Any
    ) -> AsyncResult[R]:
        """Send the task if the open transaction commits; takes what `apply_async` takes."""
        if self.app.conf.task_always_eager:
            return self._eager_on_commit(args, kwargs, options)
        if (self.river_enqueue_in or self.app.conf.river_enqueue_in) == "own":
            options.setdefault("river_enqueue_in", "ambient")
        return self.apply_async(args, kwargs, **options)

    def _eager_on_commit(self, args: Any, kwargs: Any, options: dict[str, Any]) -> AsyncResult[R]:
        from django.db import transaction  # needs the settings

        task_id = options.pop("task_id", None) or str(uuid.uuid4())
        transaction.on_commit(partial(self.apply_async, args, kwargs, task_id=task_id, **options))
        return self.AsyncResult(task_id)
