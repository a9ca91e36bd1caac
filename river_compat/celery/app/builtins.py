"""The tasks that every application has for its workflows (`celery.app.builtins`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from river_compat.celery._state import connect_on_app_finalize
from river_compat.celery.waiting_step import ERRBACKS_TASK

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery


def add_map(app: Celery) -> Any:
    """Add the tasks behind `map`, `starmap` and `chunks`."""

    def xmap(task: Any, it: Any) -> list[Any]:
        run = app.signature(task).type
        return [run(item) for item in it]

    def xstarmap(task: Any, it: Any) -> list[Any]:
        run = app.signature(task).type
        return [run(*item) for item in it]

    def chunks(task: Any, it: Any, n: int) -> Any:
        return app.canvas.chunks.apply_chunks(task, it, n, app=app)

    for name, function in (("celery.map", xmap), ("celery.starmap", xstarmap), ("celery.chunks", chunks)):
        app.task(name=name, shared=False, lazy=False)(function)


def add_accumulate(app: Celery) -> Any:
    """Add the task that hands on what it gets, or one of it."""

    def accumulate(*args: Any, index: int | None = None) -> Any:
        return args if index is None else args[index]

    app.task(name="celery.accumulate", shared=False, lazy=False)(accumulate)


def add_containers(app: Celery) -> Any:
    """Add the names of chain, group and chord. They are no tasks here: their parts are rows."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "chains, groups and chords are sent as their tasks; call apply_async on them"
        )

    for name in ("celery.chain", "celery.group", "celery.chord"):
        app.task(name=name, shared=False, lazy=False)(refuse)


def add_errbacks(app: Celery) -> Any:
    """Add the task that calls the errbacks of a chord's body that never ran."""

    def call_for(task: Any, row_id: int) -> None:
        from river_compat.celery.broken_body import call_errbacks_of

        call_errbacks_of(app, task.request, row_id)

    app.task(name=ERRBACKS_TASK, shared=False, lazy=False, bind=True, ignore_result=True)(call_for)


for _add in (add_map, add_accumulate, add_containers, add_errbacks):
    connect_on_app_finalize(_add, f"river_compat.{_add.__name__}")
