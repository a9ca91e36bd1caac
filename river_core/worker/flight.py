"""One attempt on the event loop: a coroutine, how it is told to end, and what is made of that.

asyncio has one way to end a coroutine from outside: CancelledError. A flight remembers why it cancelled,
and turns what comes out into the error that a task in a thread would have seen.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any

from river_core.errors import JobTimeoutError
from river_core.outcome import Outcome
from river_core.task import Job
from river_core.worker.event_loop import EventLoop

Cause = type[BaseException]
"""What a cancellation meant: JobCancelError, JobInterruptedError, JobTimeoutError, a limit's own error."""
Landed = Callable[[Outcome | None, BaseException | None], None]

_current: ContextVar[Flight] = ContextVar("river_core_flight")
_UNSET = object()


class Flight:
    """A job whose coroutine runs on the loop. `cancel` may be called from any thread."""

    def __init__(self, loop: EventLoop, job: Job, timeout: float | None, began: Callable[[], None]) -> None:
        """Hold a job; nothing runs yet.

        `timeout`, in seconds, is what a time-out's error names; `began` is called when the task's own code
        begins.
        """
        self.job = job
        self._loop = loop
        self._timeout = timeout
        self._began = began
        self._task: asyncio.Task[None] | None = None
        self._context = contextvars.copy_context()
        self._causes: list[Cause] = []
        self._cancels = 0
        self._in_body = False

    def start(self, awaitable: Awaitable[Outcome | None], landed: Landed) -> None:
        """Await `awaitable` on the loop, in a copy of the caller's context; tell `landed` of its end.

        `landed` is called in a side thread, with what the context holds then. Raises as
        `EventLoop.start_task` does.
        """
        row = self.job.row
        try:
            self._loop.start_task(
                f"job {row.id} of kind {row.kind!r}",
                self._context,
                lambda: self._fly(awaitable, landed),
                self._started,
            )
        except BaseException:
            _close(awaitable)
            raise

    def _started(self, task: asyncio.Task[None]) -> None:
        self._task = task

    async def _fly(self, awaitable: Awaitable[Outcome | None], landed: Landed) -> None:
        _current.set(self)
        outcome, failure = None, None
        try:
            outcome = await awaitable
        except BaseException as error:  # noqa: BLE001 - whatever it raises is its outcome
            failure = error
        context = contextvars.copy_context()
        self._loop.beside(lambda: context.run(landed, outcome, failure))

    async def body(self, awaitable: Awaitable[Outcome | None]) -> Outcome | None:
        """Await the task's own code: only in here it is cancelled."""
        self._in_body = True
        try:
            if self.job.stop_cause is not None:
                _close(awaitable)
                raise self.job.stop_cause
            self._began()
            return await self.converted(awaitable)
        finally:
            self._in_body = False

    async def converted(self, awaitable: Awaitable[Outcome | None]) -> Outcome | None:
        """Await, and raise what our own cancellation meant instead of CancelledError."""
        try:
            result = await awaitable
        except asyncio.CancelledError as error:
            if not self._causes:
                raise
            raise self._error(self._causes[-1]) from error
        finally:
            self._take_back_cancels()
        return result if isinstance(result, Outcome) else None

    def _error(self, cause: Cause) -> BaseException:
        if cause is JobTimeoutError:
            return JobTimeoutError(self._timeout or 0)
        return cause()

    def _take_back_cancels(self) -> None:
        """Let what surrounds the body, as an `asyncio.timeout` may, not take our cancellation for its own."""
        while self._cancels and self._task is not None:
            self._cancels -= 1
            self._task.uncancel()

    async def beside(self, function: Callable[[], Any]) -> Any:
        """Call a function that may block, in a side thread; context variables go there and come back."""
        context = contextvars.copy_context()
        result = await self._loop.call_beside(lambda: context.run(function))
        for variable, value in context.items():
            if variable.get(_UNSET) is not value:
                variable.set(value)
        return result

    def cancel(self, cause: Cause) -> bool:
        """Raise CancelledError inside the coroutine, once for each cause; return whether it may hear it."""
        if cause in self._causes or (self._task is not None and self._task.done()):
            return False
        self._causes.append(cause)
        self._loop.call(self._cancel)
        return True

    def _cancel(self) -> None:
        if self._in_body and self._task is not None and not self._task.done():
            self._cancels += 1
            self._task.cancel()


def current_flight() -> Flight:
    """Return the flight that the calling coroutine belongs to; raises LookupError outside of one."""
    return _current.get()


def is_current(flight: Flight) -> bool:
    """Tell whether the caller is that flight's coroutine, or a thread that has its context."""
    return _current.get(None) is flight


class Later:
    """What is to be awaited inside a flight: `inner`, by `run`, which is called when that begins."""

    def __init__(
        self,
        inner: Awaitable[Outcome | None],
        run: Callable[[Awaitable[Outcome | None]], Coroutine[Any, Any, Outcome | None]],
    ) -> None:
        """Make nothing yet, so that nothing needs to be ended where it is never awaited."""
        self._inner = inner
        self._run = run

    def __await__(self) -> Generator[Any, None, Outcome | None]:
        """Await it."""
        return self._run(self._inner).__await__()

    def close(self) -> None:
        """End what will not be awaited."""
        _close(self._inner)


def wait_for_landing(flight: Flight, awaitable: Awaitable[Outcome | None]) -> Outcome | None:
    """Await on the loop, block the calling thread until the end, and return or raise what came of it."""
    end: Future[Outcome | None] = Future()

    def landed(outcome: Outcome | None, error: BaseException | None) -> None:
        if error is not None:
            end.set_exception(error)
        else:
            end.set_result(outcome)

    flight.start(awaitable, landed)
    return end.result()


def _close(awaitable: Awaitable[Any]) -> None:
    """End a coroutine that will not be awaited, without the warning that Python gives for one."""
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()
