"""Runs the coroutine of an `async def` task: on the worker's event loop, or on one of its own elsewhere."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from inspect import iscoroutine
from typing import Any

from river_compat.celery import _state


def awaited(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls `body`, awaits what it gives, and returns that."""

    def call(*args: Any, **kwargs: Any) -> Any:
        value = body(*args, **kwargs)
        return _finished(value) if iscoroutine(value) else value

    return call


def _finished(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Wait for a coroutine; context variables that it sets stay its own."""
    frame = _state.top_frame()
    job = frame.request.__dict__.get("_job") if frame is not None else None
    if job is not None and job.host is not None:
        return job.wait_for(coroutine)
    if asyncio._get_running_loop() is None:
        return asyncio.run(coroutine)
    return _in_thread(coroutine)


def _in_thread(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run it in a thread, since this one has an event loop that runs and waits for us."""
    results: list[Any] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            results.append(context.run(asyncio.run, coroutine))
        except BaseException as error:  # noqa: BLE001 - it is raised where the task was called
            errors.append(error)

    thread = threading.Thread(target=run, name="river-eager-coroutine")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
