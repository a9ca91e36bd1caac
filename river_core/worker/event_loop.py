"""The one thread of a worker that runs coroutines, and the few that do for it what blocks.

The loop starts with the first coroutine. Whatever of an attempt is plain code that may block (end hooks,
the decision on an outcome) goes to the side threads, so that one attempt does not hold up all others.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Coroutine
from contextvars import Context
from queue import SimpleQueue
from typing import Any

from river_core.errors import RiverError

BLOCKED_SECONDS = 1.0
"""A loop that answers nobody for so long is reported."""
END_SECONDS = 2.0
SIDE_THREADS = 4
STACK_LINES = 6

logger = logging.getLogger(__name__)


class EventLoop:
    """Runs coroutines of jobs. Callable from any thread; it can be stopped once, and not started again."""

    thread_name = "river-event-loop"

    def __init__(self) -> None:
        """Start nothing yet."""
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._side = _SideThreads()
        self._stopped = False
        self._names: dict[asyncio.Task[Any], str] = {}
        self._asked_at: float | None = None
        self._reported = False

    @property
    def dead(self) -> bool:
        """Whether the thread ended by itself."""
        return self._thread is not None and not self._stopped and not self._thread.is_alive()

    def owns_current_thread(self) -> bool:
        """Return whether the caller is the loop's thread or one at its side."""
        return threading.current_thread() is self._thread or self._side.has_current()

    def start_task(
        self,
        name: str,
        context: Context,
        make: Callable[[], Coroutine[Any, Any, None]],
        started: Callable[[asyncio.Task[None]], None],
    ) -> None:
        """Run a coroutine in `context`; `started` is given its task before the first step.

        `make` is called on the loop. Raises RiverError when the loop was stopped, RuntimeError where the
        system gives no thread.
        """
        loop = self._started()

        def start() -> None:
            task = loop.create_task(make(), name=name, context=context)
            self._names[task] = name
            task.add_done_callback(self._forget)
            started(task)

        loop.call_soon_threadsafe(start)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._names.pop(task, None)
        if not task.cancelled() and isinstance(task.exception(), Exception):
            logger.error("%s failed outside its task", task.get_name(), exc_info=task.exception())

    def call(self, function: Callable[[], object]) -> None:
        """Call a function on the loop soon; nothing happens when the loop has stopped."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(function)
            except RuntimeError:
                logger.debug("the event loop was stopped meanwhile")

    def beside(self, function: Callable[[], object]) -> None:
        """Call a function that may block in a side thread."""
        self._side.put(function)

    async def call_beside(self, function: Callable[[], Any]) -> Any:
        """Call a function in a side thread, and return its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def run() -> None:
            try:
                result, error = function(), None
            except BaseException as caught:  # noqa: BLE001 - it is raised where it is awaited
                result, error = None, caught
            self.call(lambda: _resolve(future, result, error))

        self._side.put(run)
        return await future

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._stopped:
                raise RiverError("the event loop of this worker was stopped")
            if self._loop is None:
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=self._run, args=(loop,), name=self.thread_name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    loop.close()
                    raise
                self._loop, self._thread = loop, thread
            return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            while not self._stopped:
                try:
                    loop.run_forever()
                except BaseException as error:  # noqa: BLE001 - SystemExit of a task that a coroutine made
                    logger.warning("the event loop goes on after %r of a coroutine's own task", error)
            self._end_tasks(loop)
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    def _end_tasks(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel what jobs have left behind, and give it a moment to end."""
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=END_SECONDS))
        loop.run_until_complete(loop.shutdown_asyncgens())

    def stop(self, timeout: float) -> bool:
        """End the loop, waiting up to `timeout` seconds for its thread; return whether it has ended."""
        with self._lock:
            self._stopped = True
            loop, thread = self._loop, self._thread
        if loop is not None and thread is not None:
            self.call(loop.stop)
            thread.join(timeout)
        self._side.close()
        return thread is None or not thread.is_alive()

    def look(self) -> None:
        """Ask the loop for a sign of life; report once who keeps it from answering. Called now and then."""
        if self._loop is None or self._stopped:
            return
        if self._asked_at is None:
            self._asked_at = time.monotonic()
            self.call(self._answer)
        elif not self._reported and time.monotonic() - self._asked_at > BLOCKED_SECONDS:
            self._reported = True
            self._report(self._loop, time.monotonic() - self._asked_at)

    def _answer(self) -> None:
        self._asked_at = None
        self._reported = False

    def _report(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        task = asyncio.current_task(loop)
        if task is None:
            return
        frame = sys._current_frames().get(self._thread.ident or 0) if self._thread is not None else None
        stack = "".join(traceback.format_stack(frame, limit=STACK_LINES)) if frame is not None else ""
        logger.warning(
            "%s has blocked the event loop for %.1f s; all other coroutines of this worker wait. Await "
            "instead, or move what blocks to asyncio.to_thread\n%s",
            self._names.get(task, f"a task {task.get_name()!r} of a coroutine"),
            seconds,
            stack.rstrip(),
        )


def _resolve(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


class _SideThreads:
    """A few daemon threads that call what they are given, in order; started when they are needed."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def put(self, function: Callable[[], object]) -> None:
        self._calls.put(function)
        if len(self._threads) < SIDE_THREADS:
            self._start_thread()

    def _start_thread(self) -> None:
        with self._lock:
            if len(self._threads) >= SIDE_THREADS:
                return
            name = f"{EventLoop.thread_name}-side-{len(self._threads) + 1}"
            thread = threading.Thread(target=self._run, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def has_current(self) -> bool:
        return threading.current_thread() in self._threads

    def close(self) -> None:
        for _ in range(SIDE_THREADS):
            self._calls.put(None)

    def _run(self) -> None:
        while (function := self._calls.get()) is not None:
            try:
                function()
            except BaseException:
                logger.exception("a side thread of the event loop goes on after this")
