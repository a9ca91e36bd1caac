"""How one run of a task ended, as `celery.app.trace` returns it."""

from __future__ import annotations

from typing import Any, NamedTuple

from river_compat.celery import states
from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.refused_names import lacking
from river_compat.celery.ways_out import TRACING


@lacking(TRACING, "handle_error_state handle_failure handle_ignore handle_reject handle_retry")
class TraceInfo:
    """The state and the exception of a run that did not succeed."""

    __slots__ = ("einfo", "retval", "state")

    def __init__(self, state: str, retval: Any = None, einfo: ExceptionInfo | None = None) -> None:
        """Keep them."""
        self.state = state
        self.retval = retval
        self.einfo = einfo


class Ending(NamedTuple):
    """How one run ended.

    `retval` is the return value, or what is known of the exception; `info` is None for a success;
    `runtime` in seconds; `settled` is what is stored of the value.
    """

    retval: Any
    info: TraceInfo | None = None
    runtime: float | None = None
    retstr: str | None = None
    settled: Any = None

    @property
    def state(self) -> str:
        """The state that the run ended in."""
        return states.SUCCESS if self.info is None else self.info.state

    @property
    def value(self) -> Any:
        """The return value, or the exception."""
        return self.retval if self.info is None else self.info.retval

    @property
    def einfo(self) -> ExceptionInfo | None:
        """What is known of the exception."""
        return None if self.info is None else self.info.einfo
