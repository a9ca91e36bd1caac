"""What handlers learn about an exception, as billiard's ExceptionInfo shows it."""

from __future__ import annotations

import traceback
from contextlib import suppress
from functools import cached_property
from types import TracebackType
from typing import Any

_BASE: Any = object
with suppress(ImportError):
    from billiard.einfo import ExceptionInfo as _OfBilliard

    _BASE = _OfBilliard

OWN_PACKAGE = "river_compat.celery"
MAX_CHARACTERS = 32_768


class ExceptionInfo(_BASE):  # type: ignore[misc]  # one of two
    """An exception with its type and the text of its traceback, without the frames of the runner.

    It is billiard's where that is installed, since libraries ask for its class.
    """

    internal = False

    def __init__(self, error: BaseException) -> None:
        """Keep the exception; the text is made when it is asked for."""
        self.exception = error
        self.type: Any = type(error)

    @property
    def tb(self) -> TracebackType | None:
        """The traceback, from the task's own first frame on."""
        return without_runner(self.exception.__traceback__)

    @property
    def exc_info(self) -> tuple[Any, BaseException, TracebackType | None]:
        """What `logging` takes as `exc_info`."""
        return self.type, self.exception, self.tb

    @cached_property
    def traceback(self) -> str:
        """The text of the traceback, its end if it is very long."""
        text = "".join(traceback.format_exception(self.type, self.exception, self.tb))
        return text if len(text) <= MAX_CHARACTERS else "…" + text[-MAX_CHARACTERS:]

    def __str__(self) -> str:
        """Return the text of the traceback."""
        return self.traceback

    def __repr__(self) -> str:
        """Show the exception."""
        return f"<{type(self).__name__}: {self.exception!r}>"


def without_runner(trace: TracebackType | None) -> TracebackType | None:
    """Drop the leading frames that belong to this package, unless there are no others."""
    own = trace
    while own is not None and str(own.tb_frame.f_globals.get("__name__", "")).startswith(OWN_PACKAGE):
        own = own.tb_next
    return own or trace
