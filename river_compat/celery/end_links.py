"""What a run's request links to its end: callbacks that are sent with it, errbacks that are sent or called.

The rows are written in the transaction that ends the row; what is called is called after that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from river_compat.celery import _state, outgoing, run_outcomes
from river_compat.celery.einfo import ExceptionInfo
from river_compat.celery.fixups import around_task
from river_compat.celery.following import ROWS, call_each, rows_of_end, send_callbacks, send_errbacks
from river_compat.celery.worker_context import WorkerContext
from river_core.job import JobState
from river_core.outcome import Failed, Outcome
from river_core.task import Job

if TYPE_CHECKING:
    from river_compat.celery.app.base import Celery
    from river_compat.celery.app.task import Task

Settle = Callable[[Any], Any]
"""Makes of a task's value what its row keeps."""


class EndLinks:
    """Callbacks and errbacks of one application's runs."""

    def __init__(self, app: Celery) -> None:
        """Send them by `app`."""
        self._app = app
        self._fixups = app.fixups

    def with_callbacks(self, request: WorkerContext, settle: Settle) -> Settle:
        """Return `settle` with the callbacks of the request behind it."""

        def settled(value: Any) -> Any:
            found = settle(value)
            with outgoing.collected(rows_of_end(request)):
                send_callbacks(self._app, request, value)
            return found

        return settled

    def errbacks(
        self, task: Task[..., Any], request: WorkerContext, job: Job
    ) -> Callable[[BaseException, ExceptionInfo], None]:
        """Return what is to be called when the run has failed."""

        def failed(error: BaseException, einfo: ExceptionInfo) -> None:
            request.__dict__.pop(ROWS, None)
            with outgoing.collected(rows_of_end(request)):
                to_call = send_errbacks(self._app, request)
            if to_call:
                self.after_write(job, partial(called, to_call, error, einfo))

        def called(
            errbacks: list[Any], error: BaseException, einfo: ExceptionInfo, state: JobState | None
        ) -> None:
            if state is None:
                return
            _state.push(_state.Frame(task, request, entered=True, in_worker=True))
            try:
                call_each(errbacks, request, error, einfo.traceback)
            finally:
                _state.pop()

        return failed

    def after_write(self, job: Job, told: Callable[[JobState | None], object]) -> None:
        """Call `told` once the outcome of `job` is written, with the framework's care as around the task."""

        def within(state: JobState | None) -> None:
            with around_task(self._fixups):
                told(state)

        job.after_write(within if self._fixups else told)

    def with_errbacks(
        self, task: Task[..., Any], request: WorkerContext, job: Job, outcome: Outcome
    ) -> Outcome:
        """Return an outcome with the errbacks of the request, if it has failed for good around its body."""
        if not request.is_linked or not isinstance(outcome, Failed) or outcome.retry is not False:
            return outcome
        self.errbacks(task, request, job)(outcome.error, ExceptionInfo(outcome.error))
        return replace(outcome, follow_ups=(*outcome.follow_ups, *run_outcomes.follow_ups_of(request)))
