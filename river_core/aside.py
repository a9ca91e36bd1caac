"""Calls blocking code from a coroutine, in another thread, and never leaves it behind.

A coroutine that is cancelled meanwhile hears of it when the call has ended: what uses a connection must not
go on with it while somebody else rolls its transaction back.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
Start = Callable[[Callable[[], None]], object]


def start_thread(call: Callable[[], None]) -> None:
    """Call in a thread made for it."""
    threading.Thread(target=call, name="river-aside", daemon=True).start()


async def aside(function: Callable[[], T], start: Start = start_thread) -> T:
    """Return what `function` returns, called by `start` in a thread and in a copy of this context."""
    context = contextvars.copy_context()
    end: Future[T] = Future()

    def call() -> None:
        try:
            end.set_result(context.run(function))
        except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
            end.set_exception(error)

    start(call)
    waited = asyncio.wrap_future(end)
    try:
        return await asyncio.shield(waited)
    except asyncio.CancelledError:
        await _until_done(waited)
        raise


async def _until_done(future: asyncio.Future[T]) -> None:
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            continue
    future.exception()  # looked at, so that asyncio does not report it
