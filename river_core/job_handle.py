"""The handle of a running job: what a task may ask, record and be told while it works.

`river_core.task` has it too, beside the tasks that get one.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from river_core.encoding import sanitize_text
from river_core.errors import (
    ConfigurationError,
    JobCancelError,
    JobInterruptedError,
    RiverError,
    ValidationError,
)
from river_core.insert import InsertManyParams, InsertOpts, InsertResult
from river_core.job import JobRow, JobState
from river_core.metadata import MAX_OUTPUT_BYTES, json_copy
from river_core.resumable import Steps

RESERVED_METADATA_PREFIX = "river:"
OUTPUT_KEY = "output"


class Inserter(Protocol):
    """The part of a client that a running task may use (River: ClientFromContext)."""

    def insert(self, args: Any, insert_opts: InsertOpts | None = None) -> InsertResult:
        """Insert one job."""
        ...

    def insert_many(self, jobs: list[InsertManyParams]) -> list[InsertResult]:
        """Insert several jobs, all or none."""
        ...


class TxCompletion(Protocol):
    """A completion that the task has written in a transaction of its own; `river_core.job_tx` makes it."""

    @property
    def row(self) -> JobRow:
        """The row as it was written."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata updates that were written with it."""
        ...

    def look(self) -> JobRow | None:
        """Read the row as it is committed now."""
        ...


class Host(Protocol):
    """What runs a job just now; see the methods of `Job` that pass on to it."""

    def limit_time(
        self,
        soft: float | None,
        hard: float | None,
        error: type[BaseException],
        told: Callable[[], object] | None = None,
    ) -> None:
        """Bound the attempt from now on; None is no limit."""
        ...

    def renew_process(self) -> None:
        """Replace the process after this attempt, where it has one of its own."""
        ...

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Await on the worker's event loop and block until the end."""
        ...


@dataclass(slots=True)
class Powers:
    """What few jobs use, made when it is asked for the first time."""

    steps: Steps | None = None
    logger: logging.Logger | None = None
    completion: TxCompletion | None = None
    stopped: threading.Event = field(default_factory=threading.Event)
    after_write: list[Callable[[JobState | None], object]] = field(default_factory=list)


class Job:
    """The running job, as its task sees it (River: Job).

    Used by the thread, or coroutine, that runs the task; `stop` alone may be called from others.
    """

    __slots__ = ("_metadata", "client", "host", "powers", "row", "stop_cause")

    def __init__(self, row: JobRow, client: Inserter | None = None) -> None:
        """Wrap a claimed row."""
        self.row = row
        self.client = client
        self.stop_cause: type[JobCancelError | JobInterruptedError] | None = None
        self.powers: Powers | None = None
        self.host: Host | None = None
        """What runs the task, while it does."""
        self._metadata: dict[str, Any] = {}

    @property
    def id(self) -> int:
        """The id of the job's row."""
        return self.row.id

    @property
    def args(self) -> dict[str, Any]:
        """The decoded arguments."""
        return self.row.args

    @property
    def stopped(self) -> bool:
        """Whether the job was cancelled or its worker stops; a long task looks at this now and then."""
        return self.stop_cause is not None

    def wait_stopped(self, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds for the job to be stopped; return whether it was.

        It blocks, so it is not for coroutines, which are told of a stop by their cancellation.
        """
        stopped = self.use_powers().stopped
        if self.stop_cause is not None:
            return True
        return stopped.wait(timeout)

    def stop(self, cause: type[JobCancelError | JobInterruptedError]) -> bool:
        """Tell the task to end; the first cause stays. Return whether this was the first."""
        first = self.stop_cause is None
        if first:
            self.stop_cause = cause
        if self.powers is not None:
            self.powers.stopped.set()
        return first

    def update_metadata(self, updates: Mapping[str, Any]) -> None:
        """Merge copies of the values into the row's metadata when the attempt ends, however it ends.

        Raises ValidationError for keys that River reserves and for values that are no JSON.
        """
        for key in updates:
            if key.startswith(RESERVED_METADATA_PREFIX):
                raise ValidationError(f"metadata key {key!r} is reserved: keys may not start with 'river:'")
        copies = {key: json_copy(f"metadata {key!r}", value) for key, value in updates.items()}
        self._metadata.update({sanitize_text(key): value for key, value in copies.items()})

    def record_output(self, value: Any) -> None:
        """Store a copy of `value` under `output` when the attempt ends (River: RecordOutput).

        Raises ValidationError for what is no JSON and for more than 32 MiB of it.
        """
        self._metadata[OUTPUT_KEY] = json_copy("the output", value, MAX_OUTPUT_BYTES)

    def keep_metadata(self, updates: Mapping[str, Any]) -> None:
        """Merge checked values whose keys River reserves; for the parts of River that own those keys."""
        self._metadata.update(updates)

    @property
    def metadata_updates(self) -> Mapping[str, Any]:
        """What `update_metadata` and `record_output` have collected in this attempt, as of now."""
        return self._metadata.copy()

    @property
    def steps(self) -> Steps:
        """Steps that a retry does not run again once they are done (River: ResumableStep)."""
        powers = self.use_powers()
        if powers.steps is None:
            powers.steps = Steps(self.row)
        return powers.steps

    @property
    def logger(self) -> logging.Logger:
        """The logger whose lines are kept in the row; needs the plugin `PersistedLogs` (River: riverlog)."""
        if self.powers is None or self.powers.logger is None:
            raise ConfigurationError("job.logger needs PersistedLogs() among the worker's plugins")
        return self.powers.logger

    def after_write(self, callback: Callable[[JobState | None], object]) -> None:
        """Call `callback`, with the state that the row was left in, once this attempt's outcome is written.

        It runs in the thread of the attempt, which waits for the write, and only logs what it raises; None
        stands for an outcome that changed nothing or was given up.
        """
        self.use_powers().after_write.append(callback)

    def limit_time(
        self,
        soft: float | None,
        hard: float | None,
        error: type[BaseException],
        told: Callable[[], object] | None = None,
    ) -> None:
        """Raise `error` in the task after `soft` seconds from now, and end the attempt after `hard`.

        None is no limit, both lift what was set. A child process is killed at its hard limit; a thread
        cannot be: its outcome is recorded, and another thread takes its place. What is recorded is
        `Task.lost`. `told` is called by another thread when `error` has been raised. Only while the task
        runs in a worker.
        """
        if self.host is not None:
            self.host.limit_time(soft, hard, error, told)

    def renew_process(self) -> None:
        """Ask that the child process which runs this job is replaced after it; a thread is not."""
        if self.host is not None:
            self.host.renew_process()

    def wait_for(self, awaitable: Awaitable[Any]) -> Any:
        """Await on the worker's event loop, block this thread until the end, return or raise what came of it.

        Raises RiverError outside of a worker.
        """
        if self.host is None:
            raise RiverError(f"job {self.row.id} runs in no worker, so no event loop is at hand")
        return self.host.wait_for(awaitable)

    def use_powers(self) -> Powers:
        """Return the powers of this job, made now if they were not used before."""
        if self.powers is None:
            self.powers = Powers()
        return self.powers
