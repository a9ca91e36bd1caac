"""How an attempt ended, as the attributes and the status of its span say it."""

from __future__ import annotations

from dataclasses import dataclass, field

from opentelemetry.trace import Span, Status, StatusCode

from river_core import decide
from river_core import outcome as o
from river_core.errors import ControlFlow, JobCancelError
from river_core.otel.instruments import Attributes
from river_core.outcome import Outcome
from river_core.task import Job

OK = "ok"
ERROR = "error"
PANIC = "panic"
"""River's word for what is no ordinary error: here an exception that is no Exception."""


@dataclass(frozen=True, slots=True)
class Ending:
    """A status, the flags that go with it, and the error if there was one."""

    status: str
    flags: Attributes = field(default_factory=dict)
    details: Attributes = field(default_factory=dict)
    text: str = ""
    error: BaseException | None = None

    def mark(self, span: Span) -> None:
        """Set the span's status, and its exception event."""
        if self.status == OK:
            span.set_status(Status(StatusCode.OK))
            return
        span.set_status(Status(StatusCode.ERROR, self.text))
        if self.error is not None and not isinstance(self.error, ControlFlow):
            _record(span, self.error)


def of_error(error: BaseException, job: Job | None = None) -> Ending:
    """Return the ending of an attempt that raised, wherever in the exception control flow is."""
    outcome = decide.outcome_of(error)
    if isinstance(outcome, o.Failed) and not isinstance(error, Exception):
        return Ending(PANIC, _cancel_flag(job), {}, PANIC, error)
    return of_outcome(outcome, job, error)


def of_outcome(
    outcome: Outcome | None, job: Job | None = None, raised: BaseException | None = None
) -> Ending:
    """Return the ending of an attempt that gave an outcome.

    Snoozes and interruptions are no errors: the job is run again.
    """
    match outcome:
        case o.Failed():
            text = outcome.error_text or decide.error_text(outcome.error)
            return Ending(ERROR, _cancel_flag(job), {}, text, outcome.error)
        case o.Cancelled():
            return Ending(ERROR, {"cancel": True}, {}, outcome.reason, raised)
        case o.Snoozed():
            return Ending(OK, {"snooze": True}, {"snooze.duration": f"{outcome.seconds:g}s"})
        case o.Interrupted():
            return Ending(OK, {"interrupt": True})
        case _:
            return Ending(OK)


def _cancel_flag(job: Job | None) -> Attributes:
    """Tell of a cancellation from outside, which turns every failure into it."""
    return {"cancel": True} if job is not None and job.stop_cause is JobCancelError else {}


def _record(span: Span, error: BaseException) -> None:
    """Add the exception event by hand: the SDK's would fail with an exception that cannot be described."""
    span.add_event(
        "exception",
        {
            "exception.type": f"{type(error).__module__}.{type(error).__qualname__}",
            "exception.message": decide.error_text(error),
            "exception.stacktrace": decide.format_trace(error),
        },
    )
