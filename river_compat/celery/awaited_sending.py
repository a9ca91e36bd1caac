"""Sends calls from coroutines without blocking their loop, in the transaction that is open there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from river_compat.celery.app import django_database
from river_compat.celery.options import connection_of
from river_core.aside import aside
from river_core.drivers.called_awaited import call_in_transaction

if TYPE_CHECKING:
    from river_compat.celery.app.task import Task

T = TypeVar("T")


async def send_awaited(task: Task[..., Any], options: Mapping[str, Any], send: Callable[[], T]) -> T:
    """Return what `send` returns, which sends a task with these options.

    In a thread where no transaction is to be joined: in a Django project the one that Django's own code
    has for coroutines, so that its open transactions count.
    """
    app = task.app
    may_join = not app.conf.task_always_eager
    owner = _owner(task, options) if may_join else None
    if owner is not None:
        return await call_in_transaction(owner, send)
    if django_database.is_in_use() or (may_join and django_database.is_djangos(app.runtime.driver)):
        from asgiref.sync import sync_to_async  # Django brings it

        sent: T = await sync_to_async(send, thread_sensitive=True)()
        return sent
    return await aside(send)


def _owner(task: Task[..., Any], options: Mapping[str, Any]) -> Any:
    if (connection := connection_of(options)) is not None:
        return connection
    said = options.get("river_enqueue_in") or getattr(task, "river_enqueue_in", None)
    if (said or task.app.conf.river_enqueue_in) == "own":
        return None
    return task.app.runtime.driver.open_transaction()
