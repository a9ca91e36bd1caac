"""The suite's one worker: what each job does is said by its arguments."""

from __future__ import annotations

import time
from typing import Any

from river_core.conformance.barriers import Barriers
from river_core.errors import ConfigurationError, JobCancelError, JobSnoozeError
from river_core.task import Job, Task

LOOK_SECONDS = 0.02
"""A time-out is raised between two steps of a waiting job, so none takes longer than this."""
MIN_SNOOZE_MS = 1
CURSOR = 7


class ConformanceError(Exception):
    """What jobs of the suite fail with."""


class EchoTask(Task):
    """Works jobs of one of the suite's kinds."""

    def __init__(self, kind: str, kind_aliases: tuple[str, ...], barriers: Barriers) -> None:
        """Register as `kind`; jobs wait at `barriers`."""
        self.kind = kind
        self.kind_aliases = kind_aliases
        self._barriers = barriers

    def work(self, job: Job) -> None:
        """Do what the job's `behavior` says."""
        behavior = job.args.get("behavior", "")
        method = _BEHAVIORS.get(behavior)
        if method is None:
            raise ConformanceError(f"unknown behavior {behavior!r}")
        method(self, job)

    def complete(self, job: Job) -> None:
        """Do nothing."""

    def output(self, job: Job) -> None:
        """Record the message."""
        job.record_output({"message": job.args.get("message", "")})

    def fail(self, job: Job) -> None:
        """Fail the attempt."""
        raise ConformanceError("conformance retryable error")

    def cancel(self, job: Job) -> None:
        """Cancel itself."""
        raise JobCancelError("cancelled by conformance worker")

    def sleep(self, job: Job) -> None:
        """Sleep, unless the job is stopped."""
        until = time.monotonic() + _milliseconds(job) / 1000
        while (left := until - time.monotonic()) > 0:
            if job.wait_stopped(min(left, LOOK_SECONDS)):
                raise _stop_error(job)

    def barrier_wait(self, job: Job) -> None:
        """Wait at a barrier, unless the job is stopped."""
        while not self._barriers.wait(str(job.args.get("message", "")), LOOK_SECONDS):
            if job.stopped:
                raise _stop_error(job)

    def barrier_output(self, job: Job) -> None:
        """Wait at a barrier and record that it was passed."""
        self.barrier_wait(job)
        job.record_output({"race": "worker"})

    def cooperative_cancel(self, job: Job) -> None:
        """Wait until the job is stopped."""
        while not job.wait_stopped(LOOK_SECONDS):
            pass
        raise _stop_error(job)

    def snooze_once(self, job: Job) -> None:
        """Snooze a job that never was."""
        if "snoozes" not in job.row.metadata:
            raise JobSnoozeError(max(_milliseconds(job), MIN_SNOOZE_MS) / 1000)

    def resumable_cursor(self, job: Job) -> None:
        """Fail in the second step and in the third one, each once."""
        attempt = job.row.attempt
        job.steps.run("first", lambda: job.update_metadata({"first_attempt": attempt}))
        job.steps.run_cursor("second", lambda cursor: _second(job, cursor), default=0)
        job.steps.run("third", lambda: _third(attempt))


def _second(job: Job, cursor: Any) -> None:
    if job.row.attempt == 1:
        job.steps.set_cursor(CURSOR)
        raise ConformanceError("retry with cursor")
    if cursor != CURSOR:
        raise ConformanceError(f"expected cursor {CURSOR}, got {cursor!r}")
    job.update_metadata({"cursor_observed": cursor})


def _third(attempt: int) -> None:
    if attempt == 2:
        raise ConformanceError("retry after consuming cursor")


def _milliseconds(job: Job) -> int:
    return int(job.args.get("duration_ms", 0))


def _stop_error(job: Job) -> BaseException:
    if job.stop_cause is None:
        raise ConfigurationError("the job is not stopped")
    return job.stop_cause()


_BEHAVIORS = {
    "": EchoTask.complete,
    "output": EchoTask.output,
    "error": EchoTask.fail,
    "cancel": EchoTask.cancel,
    "sleep": EchoTask.sleep,
    "barrier_wait": EchoTask.barrier_wait,
    "barrier_output": EchoTask.barrier_output,
    "cooperative_cancel": EchoTask.cooperative_cancel,
    "snooze_once": EchoTask.snooze_once,
    "resumable_cursor": EchoTask.resumable_cursor,
}
