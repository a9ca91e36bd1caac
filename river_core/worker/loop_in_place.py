"""An event loop without a thread: a coroutine runs in the thread that hands it over, until its end.

For the main thread's one slot and for tests of applications, where a debugger and a connection are at hand.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any

from river_core.worker.event_loop import EventLoop

logger = logging.getLogger(__name__)


class LoopInPlace(EventLoop):
    """Runs one coroutine after the other, each to its end before `start_task` returns."""

    def start_task(
        self,
        name: str,
        context: Context,
        make: Callable[[], Coroutine[Any, Any, None]],
        started: Callable[[asyncio.Task[None]], None],
    ) -> None:
        """Run a coroutine in `context` to its end; `started` is given its task before the first step.

        In this thread, or in another one where this one has an event loop that runs.
        """
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        loop = self._loop
        task = loop.create_task(make(), name=name, context=context)
        started(task)
        if asyncio._get_running_loop() is None:
            _run(loop, task)
            return
        thread = threading.Thread(target=_run, args=(loop, task), name=self.thread_name, daemon=True)
        thread.start()
        thread.join()

    def beside(self, function: Callable[[], object]) -> None:
        """Call a function here."""
        function()

    async def call_beside(self, function: Callable[[], Any]) -> Any:
        """Call a function here, and return its result."""
        return function()

    def look(self) -> None:
        """Report nothing: a loop that has one coroutine may block."""

    def stop(self, timeout: float) -> bool:
        """End what coroutines have left behind; return whether none runs any more."""
        loop, self._loop = self._loop, None
        if loop is None or loop.is_closed():
            return True
        if loop.is_running():
            return False
        self._end_tasks(loop)
        loop.close()
        return True


def _run(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    while not task.done():
        try:
            loop.run_until_complete(task)
        except SystemExit as error:
            logger.warning("the event loop goes on after %r of a coroutine's own task", error)
