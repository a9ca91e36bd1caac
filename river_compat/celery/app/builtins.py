"""The tasks that every application has: `celery.*` (`celery.app.builtins`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from river_compat.celery.waiting_step import CHORD_PARTS_TASK, ERRBACKS_TASK

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery

__all__ = ["add_builtin_tasks"]


def add_backend_cleanup_task(app: Celery) -> Any:
    """`celery.backend_cleanup` deletes results that have expired."""

    @app.task(name="celery.backend_cleanup", shared=False, lazy=False)
    def backend_cleanup() -> None:
        backend: Any = app.backend
        backend.cleanup()

    return backend_cleanup


def add_accumulate_task(app: Celery) -> Any:
    """`celery.accumulate` returns its arguments, or the one at `index`."""

    @app.task(name="celery.accumulate", shared=False, lazy=False)
    def accumulate(*args: Any, **kwargs: Any) -> Any:
        index = kwargs.get("index")
        return args[index] if index is not None else args

    return accumulate


def add_map_task(app: Celery) -> Any:
    """`celery.map` calls a task, here and now, with each item."""

    @app.task(name="celery.map", shared=False, lazy=False)
    def xmap(task: Any, it: Any) -> list[Any]:
        run = app.signature(task).type
        return [run(item) for item in it]

    return xmap


def add_starmap_task(app: Celery) -> Any:
    """`celery.starmap` calls a task, here and now, with the arguments that each item is."""

    @app.task(name="celery.starmap", shared=False, lazy=False)
    def xstarmap(task: Any, it: Any) -> list[Any]:
        run = app.signature(task).type
        return [run(*item) for item in it]

    return xstarmap


def add_chunk_task(app: Celery) -> Any:
    """`celery.chunks` sends `celery.starmap` for every `n` items."""

    @app.task(name="celery.chunks", shared=False, lazy=False)
    def chunks(task: Any, it: Any, n: int) -> Any:
        return app.canvas.chunks.apply_chunks(task, it, n, app=app)

    return chunks


def add_group_task(app: Celery) -> Any:
    """`celery.group` sends tasks side by side."""

    @app.task(name="celery.group", shared=False, lazy=False)
    def group(
        tasks: Any, result: Any = None, group_id: str | None = None, partial_args: Any = (), **options: Any
    ) -> Any:
        del result
        return app.canvas.group(tasks, app=app).apply_async(partial_args or (), task_id=group_id, **options)

    return group


def add_chain_task(app: Celery) -> Any:
    """`celery.chain` is a name only, which raises when it is run, as in Celery: a chain is its first step."""

    @app.task(name="celery.chain", shared=False, lazy=False)
    def chain(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a chain is no task of its own; send its first step")

    return chain


def add_chord_task(app: Celery) -> Any:
    """`celery.chord` sends a header and the body that waits for it."""

    @app.task(name="celery.chord", shared=False, lazy=False)
    def chord(header: Any, body: Any, partial_args: Any = (), **options: Any) -> Any:
        return app.canvas.chord(header, body, app=app).apply_async(partial_args or (), **options)

    return chord


def add_unlock_chord_task(app: Celery) -> Any:
    """`celery.chord_unlock` polls for the end of a chord: old brokers may hold some of its calls."""

    def unlock_chord(task: Any, /, group_id: str, callback: Any, **options: Any) -> None:
        from river_compat.celery.chord_unlock import unlock

        unlock(app, task, group_id, callback, **options)

    return app.task(
        name="celery.chord_unlock",
        shared=False,
        lazy=False,
        bind=True,
        max_retries=None,
        default_retry_delay=1,
        ignore_result=True,
    )(unlock_chord)


def add_errbacks_task(app: Celery) -> Any:
    """Ours: calls the errbacks of a chord's body that never ran."""

    def call_for(task: Any, row_id: int, told: Sequence[str] = ()) -> None:
        from river_compat.celery.broken_body import call_errbacks_of

        call_errbacks_of(app, task.request, row_id, told)

    return app.task(name=ERRBACKS_TASK, shared=False, lazy=False, bind=True, ignore_result=True)(call_for)


def add_chord_parts_task(app: Celery) -> Any:
    """Ours: what a chord's body waits for while a generator still makes its parts."""

    def watch(task: Any) -> None:
        from river_compat.celery.canvas.streaming import watch_parts

        watch_parts(app, task.request._row)

    return app.task(name=CHORD_PARTS_TASK, shared=False, lazy=False, bind=True, ignore_result=True)(watch)


def add_builtin_tasks(app: Celery) -> None:
    """Register all of them."""
    for add in (
        add_accumulate_task,
        add_backend_cleanup_task,
        add_chain_task,
        add_chord_parts_task,
        add_chord_task,
        add_chunk_task,
        add_errbacks_task,
        add_group_task,
        add_map_task,
        add_starmap_task,
        add_unlock_chord_task,
    ):
        add(app)
