"""The bridge: works rows of kind `python_task` by the adapter framework that wrote them.

A row that this worker cannot run, but another may, waits: it is snoozed for min(2^n, 300) seconds
with the reason in its metadata, so it is never lost and spends no attempt.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from river_compat import envelope
from river_compat.envelope import KIND, TaskCall
from river_compat.errors import CallNotRunnable, MalformedCall
from river_compat.feeding import fed, late_hand_over
from river_compat.results import EXCEPTION, GIVEN_BACK, OUTCOME, WAITING, TaskOutcome, stored_exception
from river_core import clock
from river_core.decide import outcome_of, snooze_count
from river_core.errors import ControlFlow, JobCancelError
from river_core.insert import MAX_ATTEMPTS_DEFAULT
from river_core.job import JobRow
from river_core.links import FEEDS, Break, HandOver, LinkError, feeds_of
from river_core.loss import Loss, WorkerStopped
from river_core.outcome import Cancelled, Completed, Failed, Interrupted, Outcome, Snoozed
from river_core.task import Job, Task

MAX_WAIT_SECONDS = 300
TELL_AGAIN_SECONDS = 60.0
CRASHES_RUN_AGAIN_AT_ONCE = 3

logger = logging.getLogger(__name__)


class FrameworkRunner(Protocol):
    """Runs the calls of one framework."""

    def run(self, call: TaskCall, job: Job) -> Outcome:
        """Run the call and return how it ended.

        Raises CallNotRunnable when this worker does not know the task. Control flow of river_core
        passes through.
        """
        ...

    def lost(self, call: TaskCall, job: Job, loss: Loss) -> Outcome:
        """Return the outcome of a run that did not end by itself; handlers of the user's may run."""
        ...

    def broken(self, call: TaskCall, row: JobRow, cause: Break) -> Outcome:
        """Return the final outcome of a call that waits for one that failed; nothing of the user's runs."""
        ...


class PythonTask(Task):
    """Hands each row to the runner of its framework."""

    kind = KIND
    adapter = True
    has_waiting_jobs = True

    def __init__(self, runners: Mapping[str, FrameworkRunner]) -> None:
        """Take the runners by framework name, `celery` or `rq`."""
        self._runners = dict(runners)
        self._silent_until: dict[str, float] = {}

    def work(self, job: Job) -> Outcome:
        """Decode the envelope and run the call."""
        try:
            return self._run(_call_of(job.row), job)
        except CallNotRunnable as reason:
            return self._waiting(job.row, str(reason))
        except MalformedCall as error:
            logger.error("a row holds no task call and is discarded: %s", error, extra={"job_id": job.row.id})
            return failure(error)

    def _run(self, call: TaskCall, job: Job) -> Outcome:
        try:
            return fed(_unless_revoked(self._runner(call).run(call, job), call, job), call, job.row)
        except CallNotRunnable:
            raise
        except (ControlFlow, Exception) as error:  # noqa: BLE001 - whatever it is, the row must end
            return self._ended_around(error, call, job.row)

    def _ended_around(self, error: BaseException, call: TaskCall, row: JobRow) -> Outcome:
        """Return what an exception means that came through all of the adapter's handlers."""
        decided = outcome_of(error)
        if isinstance(decided, Cancelled):
            return fed(decided, call, row)
        if not isinstance(decided, Failed):
            raise error
        # Whatever went wrong around the body would go wrong again, and the body may have run by now.
        logger.error("job %d failed outside its task", row.id, exc_info=error, extra={"job_id": row.id})
        return fed(failure(error), call, row)

    def _runner(self, call: TaskCall) -> FrameworkRunner:
        runner = self._runners.get(call.framework)
        if runner is None and not call.framework and len(self._runners) == 1:
            return next(iter(self._runners.values()))
        if runner is None:
            known = ", ".join(sorted(self._runners))
            raise CallNotRunnable(
                f"task {call.name!r} is of framework {call.framework!r}; this worker runs {known}"
            )
        return runner

    def _waiting(self, row: JobRow, reason: str) -> Snoozed:
        """Put the row aside; say so once a minute for each reason, since many rows may wait for the same."""
        seconds = min(2 ** min(snooze_count(row), 16), MAX_WAIT_SECONDS)
        now = time.monotonic()
        silent = now < self._silent_until.get(reason, 0.0)
        if not silent:
            self._silent_until = {text: until for text, until in self._silent_until.items() if until > now}
            self._silent_until[reason] = now + TELL_AGAIN_SECONDS
        text = (
            "job %d waits: %s; next look in %d s (others that wait for the same are not logged for a minute)"
        )
        level = logging.DEBUG if silent else logging.WARNING
        logger.log(level, text, row.id, reason, seconds, extra={"job_id": row.id})
        return Snoozed(float(seconds), {WAITING: reason})

    def refused(self, job: JobRow, error: BaseException) -> Failed:
        """Discard the row with the database's reason: the body did run, and would give the same again."""
        return failure(error, trace="")

    def broken(self, job: JobRow, cause: Break) -> Outcome:
        """Let the framework say how a call ends that waited in vain; what waits for it ends, too."""
        try:
            call = _call_of(job)
            return fed(self._runner(call).broken(call, job, cause), call, job)
        except (CallNotRunnable, MalformedCall) as error:
            return failure(error, trace="")

    def lost(self, job: Job, loss: Loss) -> Outcome:
        """Let the framework say what it means that a run did not end by itself; what waits for it is told."""
        try:
            call = _call_of(job.row)
            return fed(self._runner(call).lost(call, job, loss), call, job.row)
        except (CallNotRunnable, MalformedCall) as error:
            return failure(error, trace="")

    def interrupted(self, job: Job) -> Outcome:
        """Give the row back, marked as such; end one that is to run once only as if its process had died."""
        if _runs_once(job.row):
            return self.lost(job, WorkerStopped())
        return Interrupted({GIVEN_BACK: True})

    def late_hand_over(self, member: JobRow | None, waiting: JobRow, index: int) -> HandOver | int | None:
        """Read from a member's row what its task could not hand over."""
        return late_hand_over(member, waiting, index)

    def timeout(self, job: JobRow) -> float | None:
        """Return None: a task may run for days; limits are the framework's."""
        return None

    def next_retry(self, job: JobRow, error: BaseException) -> datetime | None:
        """Space the attempts of a task that broke its attempt, as a crash does.

        The first three run again at once, later ones after min(n^4, 300) seconds.
        """
        crashes = job.attempt
        seconds = 0.1 if crashes <= CRASHES_RUN_AGAIN_AT_ONCE else min(crashes**4, MAX_WAIT_SECONDS)
        return clock.now() + timedelta(seconds=seconds)


def _runs_once(row: JobRow) -> bool:
    """Tell whether a run that has begun is the last: every row that is not at most once has 25 attempts.

    One that was retried by hand has an attempt more than before, and is still at its last.
    """
    return row.max_attempts < MAX_ATTEMPTS_DEFAULT and row.attempt >= row.max_attempts


def _unless_revoked(outcome: Outcome, call: TaskCall, job: Job) -> Outcome:
    """Return the outcome, or the end of a task that was revoked while it ran and wants to run again.

    The revoke may be known here, or be found when the outcome is written.
    """
    if not isinstance(outcome, Completed):
        return outcome
    if outcome.metadata.get(OUTCOME) not in (TaskOutcome.RETRIED, TaskOutcome.REPLACED):
        return outcome
    revoked = Cancelled("revoked", {**outcome.metadata, OUTCOME: TaskOutcome.REVOKED.value})
    if job.stop_cause is JobCancelError:
        return revoked
    ended = fed(revoked, call, job.row)
    return replace(outcome, if_cancelled=ended) if isinstance(ended, Cancelled) else outcome


def failure(error: BaseException, **extra: Any) -> Failed:
    """Return the outcome of an error that is final: the row is discarded with what rebuilds the exception."""
    metadata = {OUTCOME: TaskOutcome.FAILED.value, EXCEPTION: stored_exception(error)}
    return Failed(error, metadata, retry=False, error_text=describe(error), **extra)


def describe(error: BaseException) -> str:
    """Return the error as the last line of a traceback shows it."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the failure
        text = ""
    name = type(error).__qualname__
    return f"{name}: {text}" if text else name


def _call_of(row: JobRow) -> TaskCall:
    """Read a row before anything of its task runs, whom it feeds too; raises as `envelope.decode` does."""
    call = envelope.decode(row.encoded_args, row.id)
    if FEEDS in row.encoded_metadata:
        try:
            feeds_of(row.metadata)
        except LinkError as error:
            raise MalformedCall(f"the metadata of job {row.id} cannot be read: {error}") from error
    return call
