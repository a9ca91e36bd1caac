"""What happens once results have ended: callbacks by `then`, and `await`."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from river_compat.celery.joining import assert_will_not_block
from river_compat.waiting import Watch

if TYPE_CHECKING:
    from river_compat.celery.async_result import AsyncResult

POLL_SECONDS = 0.5

logger = logging.getLogger(__name__)


class Promise:
    """Calls back, once, when all awaited results have ended; further callbacks by `then` of its own."""

    def __init__(
        self, subject: Any, callback: Callable[[Any], Any], on_error: Callable[..., Any] | None = None
    ) -> None:
        """Call `callback(subject)`, or `on_error(exception)` when waiting is in vain."""
        self._subject = subject
        self._lock = threading.Lock()
        self._callbacks: list[tuple[Callable[[Any], Any], Callable[..., Any] | None]] = [(callback, on_error)]
        self._missing = 0
        self._watches: list[Watch] = []
        self._error: BaseException | None = None
        self.ready = False

    def watch(self, results: Sequence[AsyncResult[Any]]) -> Promise:
        """Wait for these; with none of them it is kept at once."""
        self._missing = len(results)
        if not results:
            self._keep()
            return self
        self._watches = [Watch(item, item.backend.look, self._one_ended, POLL_SECONDS) for item in results]
        results[0].app.runtime.waiter.watch(self._watches)
        return self

    def then(self, callback: Callable[[Any], Any], on_error: Callable[..., Any] | None = None) -> Promise:
        """Call this, too; at once when everything has ended."""
        with self._lock:
            if not self.ready:
                self._callbacks.append((callback, on_error))
                return self
        self._call(callback, on_error)
        return self

    def _one_ended(self, error: BaseException | None) -> None:
        with self._lock:
            self._error = self._error or error
            self._missing -= 1
            if self._missing > 0:
                return
        self._keep()

    def _keep(self) -> None:
        with self._lock:
            self.ready = True
            callbacks, self._callbacks = self._callbacks, []
        for callback, on_error in callbacks:
            self._call(callback, on_error)

    def _call(self, callback: Callable[[Any], Any], on_error: Callable[..., Any] | None) -> None:
        try:
            if self._error is None:
                callback(self._subject)
            elif on_error is not None:
                on_error(self._error)
        except Exception:
            logger.exception("a callback for the end of %r has failed", self._subject)


async def awaited(result: AsyncResult[Any]) -> Any:
    """Wait for one result in the running event loop and return its value, or raise its exception."""
    if result.ignored:
        return None
    assert_will_not_block()
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if ended.done():
            return
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    runtime = result.app.runtime

    def tell(error: BaseException | None) -> None:
        loop.call_soon_threadsafe(settle, error)

    watch = Watch(result, result.backend.look, tell, POLL_SECONDS)
    runtime.waiter.watch([watch])
    try:
        await ended
    finally:
        runtime.waiter.unwatch([watch])
    return result.maybe_throw()
