"""`result.on_ready`: what is called once a result is there, under the name that Celery has for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn


class OnReady:
    """Stands for the end of a result, or of all results of a set: `result.on_ready.then(callback)`."""

    def __init__(self, result: Any) -> None:
        """Stand for the end of `result`."""
        self._result = result

    @property
    def ready(self) -> bool:
        """Whether it has come."""
        return bool(self._result.ready())

    def then(self, callback: Callable[[Any], Any], on_error: Callable[..., Any] | None = None) -> Any:
        """Call `callback` with the result once it is there; as `then` of the result itself."""
        return self._result.then(callback, on_error)

    def throw(
        self, exc: BaseException | None = None, tb: TracebackType | None = None, propagate: bool = True
    ) -> None:
        """Raise an exception, by default the one that is handled, with a traceback of another place."""
        if propagate:
            raise_from_elsewhere(exc or sys.exc_info()[1], tb)


def raise_from_elsewhere(exc: BaseException | None, tb: TracebackType | None) -> NoReturn:
    """Raise an exception; `tb` is where it was raised first, if that is known."""
    if exc is None:
        raise RuntimeError("no exception is given, and none is handled")
    raise exc if tb is None else exc.with_traceback(tb)
