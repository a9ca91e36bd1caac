"""Runs one claimed job in the calling thread, by the executor, the slots and the completer of a worker.

Nothing is imitated: time-outs are raised inside the task, plugins and retry policies decide, and what is
written is written by the same statements.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from river_core.client import Client
from river_core.db import jobs
from river_core.drivers.base import Driver
from river_core.errors import AmbientTransactionError
from river_core.inserting import InsertNotifyLimiter
from river_core.job import JobRow, JobState
from river_core.plugins import PluginSet
from river_core.task import Job, Registry
from river_core.testing import describe
from river_core.testing.result import WorkOutcome, WorkResult, outcome_of
from river_core.worker.completer import Completer
from river_core.worker.completion import CompletedInTx, Completion
from river_core.worker.config import WorkerConfig
from river_core.worker.executor import Executor
from river_core.worker.extensions import Extensions
from river_core.worker.job_events import job_events
from river_core.worker.loop_in_place import LoopInPlace
from river_core.worker.main_thread import MainThreadSlots
from river_core.worker.outcome_writer import OutcomeWriter
from river_core.worker.stuck import StuckJobs

LOOK_AGAIN_SECONDS = 0.02


@dataclass(slots=True)
class Attempt:
    """The parts of a worker that one attempt needs, and what they have told."""

    driver: Driver
    registry: Registry
    config: WorkerConfig
    client: Client
    client_id: str
    error: BaseException | None = None
    completions: list[Completion] = field(default_factory=list)
    states: dict[int, JobState] = field(default_factory=dict)
    is_written: bool = False
    refusal: AmbientTransactionError | None = None

    def work(self, row: JobRow) -> WorkResult:
        """Run the job and write how it ended; returns that.

        Raises AssertionError when the row is gone or its outcome cannot be written, and whatever is no
        outcome of a job, as KeyboardInterrupt.
        """
        __tracebackhide__ = True
        executor = self._executor()
        self._run(executor, row)
        if self.error is not None and not isinstance(self.error, Exception | SystemExit):
            raise self.error
        if not self.completions:
            return WorkResult(None, None, self._row(row.id) or row, self.error)
        if self.refusal is not None:
            raise self._unwritten(row, self.refusal) from self.error or self.refusal
        if not self.is_written:
            headline = "the outcome of the job cannot be written in any form; see the log"
            raise describe.failure(headline, describe.row(row))
        return self._result(self.completions[0])

    def _write(self, executor: Executor, completion: Completion) -> None:
        """Write an outcome where it is decided: what waits for the write goes on after it."""
        self.completions = [completion]
        writer = OutcomeWriter(
            self.driver, self.client_id, InsertNotifyLimiter(), executor.broken, self.config.notify_kind
        )
        try:
            self.is_written = Completer(writer, executor.rejected, self._written).write_now(completion)
        except AmbientTransactionError as error:
            self.refusal = error
        finally:
            if completion.receipt is not None:
                completion.receipt.settle(None)

    def _unwritten(self, row: JobRow, error: AmbientTransactionError) -> AssertionError:
        return describe.failure(
            f"the outcome of the job cannot be written: {error}",
            describe.row(row),
            "" if self.error is None else f"the task raised {type(self.error).__name__}: {self.error}",
            "a statement of the task that may fail belongs in a savepoint of its own, as psycopg's "
            "connection.transaction(), SQLAlchemy's begin_nested() and Django's atomic() make it",
        )

    def _executor(self) -> Executor:
        plugins = PluginSet(self.config.plugins, self.registry)
        extensions = Extensions(plugins, self._handle_error)
        config = self.config
        return Executor(self.registry, config.retry_policy, config.clock, config.job_timeout, extensions)

    def _handle_error(self, job: Job, error: BaseException) -> Any:
        self.error = error
        handler = self.config.error_handler
        return None if handler is None else handler(job, error)

    def _run(self, executor: Executor, row: JobRow) -> None:
        stuck = StuckJobs(self.config.job_stuck_threshold, self.config.job_stuck_handler)
        loop = LoopInPlace()
        slots = MainThreadSlots(
            "river-test",
            1,
            executor,
            self.client,
            partial(self._write, executor),
            _nothing,
            loop,
            stuck=stuck,
        )
        slots.submit([row], slots.reserve().total)
        try:
            with _expiring(slots, executor.timeout(row)):
                slots.run_next(0)
        finally:
            loop.stop(0)

    def _written(self, batch: Sequence[Completion], states: dict[int, JobState]) -> None:
        self.completions, self.states = list(batch), states

    def _result(self, completion: Completion) -> WorkResult:
        row = self._row(completion.row.id)
        rows = {} if row is None else {row.id: row}
        event = next(job_events([completion], self.states, rows, self.config.clock.now()), None)
        outcome = outcome_of(completion, row)
        if event is None and row is None and outcome is not WorkOutcome.DELETED:
            raise _gone(completion.row) from self.error
        if event is None:
            return WorkResult(outcome, None, row or completion.row, self.error)
        return WorkResult(
            outcome or _by_itself(completion),
            event.kind,
            event.job or completion.row,
            self.error,
            event.statistics,
        )

    def _row(self, job_id: int) -> JobRow | None:
        with self.driver.connect() as connection:
            found = connection.fetch(jobs.job_get_by_id(self.driver.sql, job_id))
        return jobs.decode_job(self.driver.sql, found[0]) if found else None


def _gone(row: JobRow) -> AssertionError:
    """Return the failure for a job in no database: it can neither be completed there nor checkpointed."""
    return describe.failure(
        f"job {row.id} was gone when its attempt ended",
        describe.row(row),
        "something deleted it, or rolled back the transaction that it was inserted in; keep its row where "
        "the test's transaction sees it until the job has ended",
    )


def _by_itself(completion: Completion) -> WorkOutcome | None:
    return WorkOutcome.COMPLETED if isinstance(completion, CompletedInTx) else None


def _nothing() -> None:
    """A freed slot is no news here."""


@contextmanager
def _expiring(slots: MainThreadSlots, timeout: float | None) -> Iterator[None]:
    """End the job's time while the block runs, as a worker's attendant does."""
    if timeout is None:
        yield
        return
    over = threading.Event()
    watch = threading.Thread(target=_expire, args=(slots, timeout, over), name="river-test-time", daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


def _expire(slots: MainThreadSlots, timeout: float, over: threading.Event) -> None:
    pause = timeout
    while not over.wait(pause):
        slots.expire()
        pause = LOOK_AGAIN_SECONDS
