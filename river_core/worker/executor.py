"""Runs one claimed job and decides what is written for it (River: JobExecutor).

The executor decides, the completer writes. It runs in whatever thread the slot has; only the call of
the task in the middle is anyone else's code.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime

from river_core import outcome as o
from river_core.clock import Clock
from river_core.decide import Attempt, decide, outcome_of
from river_core.errors import JobCancelError, JobRowDecodeError, RiverError, UnknownJobKindError
from river_core.forking import is_astray, leave_by
from river_core.job import JobRow, JobState
from river_core.links import MEMBERS, Break, lacks_parts
from river_core.loss import Loss
from river_core.outcome import Completed, Failed, Outcome, StateChange, set_completed
from river_core.resumable import STEP_KEY
from river_core.retry import RetryPolicy
from river_core.task import Job, Registry, Task, Worked
from river_core.worker.completion import Completion, Deletion
from river_core.worker.events import EventKind
from river_core.worker.extensions import Extensions
from river_core.worker.powers import ROLLED_BACK, completed_in_tx, steps_settled

REMOTE_CANCEL_TEXT = "JobCancelError: job cancelled remotely"
COMPLETED = Completed()

Call = Callable[[Task, Job], Worked]
Wait = Callable[[Awaitable[Outcome | None]], Outcome | None]
logger = logging.getLogger(__name__)

_EVENT_OF: dict[type[Outcome], EventKind] = {
    o.Completed: EventKind.JOB_COMPLETED,
    o.Failed: EventKind.JOB_FAILED,
    o.Cancelled: EventKind.JOB_CANCELLED,
    o.Snoozed: EventKind.JOB_SNOOZED,
    o.Interrupted: EventKind.JOB_INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class Awaiting:
    """An attempt whose task is a coroutine: what is to be awaited, and then given to `Executor.landed`."""

    awaitable: Awaitable[Outcome | None]
    attempt: Attempt


class Executor:
    """Turns a running `Job` into a `Completion`."""

    def __init__(
        self,
        registry: Registry,
        policy: RetryPolicy,
        clock: Clock,
        job_timeout: float | None,
        extensions: Extensions | None = None,
        *,
        traced: bool = True,
    ) -> None:
        """Run tasks of `registry`.

        `policy` spaces retries of tasks without one of their own; `job_timeout` in seconds is for
        tasks without one of their own, None for no limit. `extensions` is for workers that have any.
        Without `traced` an ordinary error is stored without its traceback, as River's other clients do.
        """
        self._registry = registry
        self._policy = policy
        self._clock = clock
        self._job_timeout = job_timeout
        self._extensions = extensions
        self._traced = traced

    def timeout(self, row: JobRow) -> float | None:
        """Return the time-out of a job in seconds, None for no limit (River: Timeout)."""
        task = self._registry.get(row.kind)
        seconds = task.timeout(row) if task is not None else 0
        if seconds is None or seconds < 0:
            return None
        return seconds or self._job_timeout

    @property
    def may_await(self) -> bool:
        """Whether any task may be a coroutine."""
        return self._registry.has_coroutines

    def frees_thread(self, row: JobRow) -> bool:
        """Tell whether a job is known to be a coroutine that no plugin keeps in its thread."""
        task = self._registry.get(row.kind)
        if task is None or not task.is_coroutine(row):
            return False
        return self._extensions is None or not self._extensions.blocks(row.kind)

    def execute(self, job: Job, call: Call, wait: Wait) -> Completion | Awaiting | None:
        """Run the job by `call` and return what is to be written, if anything, or what is to be awaited.

        A slot provides `call`, and `wait` for where a plugin needs the end of a coroutine in this thread.
        """
        started_at = self._clock.now()
        task = self._registry.get(job.row.kind)
        try:
            job.row.check()
        except JobRowDecodeError as error:
            return self._settled(job, Failed(error), Attempt(job.row, started_at, None, self._policy))
        outcome = self._outcome(task, job, call, wait)
        if type(outcome) is Completed and self._is_plain(job) and not _needs_facts(outcome):
            return self._completed(job, outcome, started_at)
        attempt = Attempt(job.row, started_at, task, self._policy)
        if type(outcome) is not Completed and isinstance(outcome, Awaitable):
            return Awaiting(outcome, attempt)
        return self._settled(job, outcome, attempt)

    def landed(
        self, job: Job, attempt: Attempt, outcome: Outcome | None, error: BaseException | None
    ) -> Completion | None:
        """Return what is to be written for a coroutine that has ended, by returning or by raising."""
        ended = outcome_of(error) if error is not None else outcome or COMPLETED
        return self._settled(job, _unless_cancelled(job, ended), attempt)

    def _is_plain(self, job: Job) -> bool:
        """Tell whether nothing but the outcome decides: no plugins, steps or completion of its own."""
        return job.powers is None and self._extensions is None and STEP_KEY not in job.row.encoded_metadata

    def _settled(self, job: Job, outcome: Outcome, attempt: Attempt) -> Completion | None:
        if not self._traced:
            outcome = _untraced(outcome)
        if self._is_plain(job):
            return self._completion(job, outcome, attempt)
        outcome = steps_settled(job, outcome)
        if job.powers is not None and job.powers.completion is not None:
            ran = (attempt.started_at, self._clock.now())
            settled = completed_in_tx(job, outcome, job.powers.completion, ran)
            if settled is not ROLLED_BACK:
                return settled
        if self._extensions is None:
            return self._completion(job, outcome, attempt)
        if isinstance(outcome, Failed):
            outcome = self._extensions.judged(job, outcome)
        return self._extensions.finalized(job, self._completion(job, outcome, attempt))

    def _outcome(
        self, task: Task | None, job: Job, call: Call, wait: Wait
    ) -> Outcome | Awaitable[Outcome | None]:
        if task is None:
            return Failed(UnknownJobKindError(job.row.kind))
        if MEMBERS in job.row.encoded_metadata and lacks_parts(job.row.metadata):
            logger.warning(
                "job %d was set going before what it waits for has ended; it goes on waiting",
                job.row.id,
                extra={"job_id": job.row.id},
            )
            return o.Interrupted(still_waits=True)
        try:
            run = call if self._extensions is None else self._extensions.surrounding(call, wait)
            outcome = run(task, job) or COMPLETED
        except BaseException as error:  # noqa: BLE001 - whatever a task raises is its outcome
            if is_astray():
                leave_by(error)
            outcome = outcome_of(error)
        if job.stop_cause is None or isinstance(outcome, Awaitable):
            return outcome
        return _unless_cancelled(job, outcome)

    def _completed(self, job: Job, outcome: Completed, started_at: datetime) -> Completion:
        """Return what `_completion` does, without the facts that a mere success does not need."""
        now = self._clock.now()
        metadata = {**job.metadata_updates, **outcome.metadata}
        change = set_completed(now, metadata, outcome)
        return Completion(job.row, change, EventKind.JOB_COMPLETED, (started_at, now))

    def _completion(self, job: Job, outcome: Outcome, attempt: Attempt) -> Completion:
        now = self._clock.now()
        if isinstance(outcome, o.Interrupted):
            outcome = self._interruption(job, outcome, attempt.task)
        try:
            change = decide(outcome, attempt, now, job.metadata_updates)
        except RiverError as error:
            outcome = Failed(error)
            change = decide(outcome, attempt, now, {})
        if not isinstance(outcome, Completed):
            _log(outcome, attempt, change.state)
        kind = Deletion if isinstance(outcome, Completed) and outcome.delete_row else Completion
        return kind(attempt.row, change, _EVENT_OF[type(outcome)], (attempt.started_at, now))

    def _interruption(self, job: Job, outcome: o.Interrupted, task: Task | None) -> Outcome:
        """Ask the task what becomes of an attempt that had begun."""
        if task is None or outcome.still_waits or not outcome.began:
            return outcome
        try:
            return task.interrupted(job)
        except Exception:
            logger.exception("interrupted() of a task raised", extra={"job_id": job.row.id})
            return outcome

    def interrupted(self, job: Job, started: bool = True) -> Completion:
        """Return what is written for a job that did not finish.

        What has started is the task's to say; what has not is given back, and keeps its turn.
        """
        row = job.row
        attempt = Attempt(row, self._clock.now(), self._registry.get(row.kind), self._policy)
        completion = self._completion(job, o.Interrupted(began=started), attempt)
        if started:
            return completion
        return replace(completion, change=replace(completion.change, scheduled_at=None))

    def lost(self, job: Job, loss: Loss) -> Completion:
        """Return what is written for an attempt that did not end by itself."""
        row = job.row
        task = self._registry.get(row.kind)
        attempt = Attempt(row, row.attempted_at or self._clock.now(), task, self._policy)
        try:
            outcome = (task or Task()).lost(job, loss)
        except Exception:
            logger.exception("lost() of a task raised", extra={"job_id": row.id})
            outcome = Task().lost(job, loss)
        return self._completion(job, outcome, attempt)

    def not_run(self, row: JobRow, outcome: Outcome) -> Completion:
        """Return the end of an attempt whose task was never called."""
        return self._completion(Job(row), outcome, Attempt(row, self._clock.now(), None, self._policy))

    def broken(self, row: JobRow, cause: Break) -> StateChange:
        """Decide what becomes of a waiting row that cannot run; whatever happens it ends."""
        now = self._clock.now()
        task = self._registry.get(row.kind)
        attempt = Attempt(row, now, task, self._policy)
        try:
            outcome = (task or Task()).broken(row, cause)
            change = decide(outcome, attempt, now, {})
        except Exception as error:
            logger.exception("broken() of a task raised", extra={"job_id": row.id})
            return decide(Failed(error, retry=False), attempt, now, {})
        if change.finalized_at is None:
            return decide(Failed(RiverError("a broken job must end"), retry=False), attempt, now, {})
        return change

    def rejected(self, row: JobRow, error: BaseException) -> StateChange:
        """Decide again for an outcome that the database refused: the attempt failed with `error`.

        What the failure is to look like, and whether it is tried again, is the task's to say.
        """
        now: datetime = self._clock.now()
        task = self._registry.get(row.kind)
        attempt = Attempt(row, row.attempted_at or now, task, self._policy)
        failed = task.refused(row, error) if task is not None else Failed(error, trace="")
        return decide(failed, attempt, now, {})


def _needs_facts(outcome: Completed) -> bool:
    return outcome.delete_row or outcome.if_cancelled is not None


def _untraced(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Failed) and isinstance(outcome.error, Exception) and outcome.trace is None:
        return replace(outcome, trace="")
    return outcome


def _unless_cancelled(job: Job, outcome: Outcome) -> Outcome:
    """Return the outcome, or the cancellation from outside in its place; what succeeded stays a success."""
    if job.stop_cause is JobCancelError and not isinstance(outcome, Completed):
        hand_overs = () if isinstance(outcome, o.Snoozed | o.Interrupted) else outcome.hand_overs
        return o.Cancelled(REMOTE_CANCEL_TEXT, outcome.metadata, hand_overs=hand_overs)
    return outcome


def _log(outcome: Outcome, attempt: Attempt, state: JobState) -> None:
    """Say that an attempt failed: as an error where it was the last, so that a monitor sees it once."""
    if not isinstance(outcome, Failed) or (attempt.task is not None and attempt.task.adapter):
        return
    row = attempt.row
    logger.log(
        logging.ERROR if state is JobState.DISCARDED else logging.WARNING,
        "job %d failed",
        row.id,
        extra={"job_id": row.id, "kind": row.kind, "queue": row.queue, "attempt": row.attempt},
        exc_info=outcome.error if outcome.error.__traceback__ else None,
    )
