"""The completer writes in bulk, loses nothing, and lets one bad outcome fail alone."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest

from river_core.clock import SystemClock
from river_core.db import jobs, work
from river_core.db.statement import Dialect, Statement
from river_core.db.work import AttemptChange
from river_core.drivers.base import Connection, Driver, Row
from river_core.errors import OperationalError
from river_core.insert import InsertParams
from river_core.inserting import InsertNotifyLimiter, insert_many
from river_core.job import JobRow, JobState
from river_core.job_handle import Inserter, Job
from river_core.outcome import Completed, FollowUp, set_completed, set_error, set_interrupted
from river_core.retry import DefaultRetryPolicy
from river_core.task import Registry
from river_core.worker.completer import Completer
from river_core.worker.completion import Completion
from river_core.worker.event_loop import EventLoop
from river_core.worker.events import EventKind
from river_core.worker.executor import Executor
from river_core.worker.outcome_writer import OutcomeWriter
from river_core.worker.running_job import RunningJob
from river_core.worker.slots import ThreadSlots
from tests.runtime.workers import row, wait_for

CLIENT = "completer_test"


def claimed(driver: Driver, count: int) -> list[JobRow]:
    """Insert `count` jobs and claim them."""
    params = [InsertParams(kind="k1", encoded_args="{}") for _ in range(count)]
    with driver.connect() as connection:
        with connection.transaction():
            insert_many(connection, driver.sql, params, ())
        rows = connection.fetch(work.job_get_available(driver.sql, "default", CLIENT, count))
    return sorted(work.decode_claim(driver.sql, rows).rows, key=lambda job: job.id)


def done(job: JobRow, follow_ups: tuple[FollowUp, ...] = (), **metadata: object) -> Completion:
    """A success of `job`."""
    change = set_completed(datetime.now(UTC), metadata, Completed(follow_ups=follow_ups))
    return Completion(job, change, EventKind.JOB_COMPLETED)


@contextmanager
def completing(driver: Driver, batch: list[Completion]) -> Iterator[Completer]:
    """A completer that finds all of `batch` waiting when it starts, so that it is one flush."""
    executor = Executor(Registry(), DefaultRetryPolicy(), SystemClock(), None)
    completer = Completer(
        OutcomeWriter(driver, CLIENT, InsertNotifyLimiter(), executor.broken),
        executor.rejected,
        lambda batch, states: None,
    )
    for completion in batch:
        completer.put(completion)
    completer.start()
    try:
        yield completer
    finally:
        assert completer.stop(60)


def flush(driver: Driver, batch: list[Completion]) -> None:
    """Write one flush and wait for its end."""
    with completing(driver, batch):
        pass


def states(driver: Driver) -> Counter[str]:
    """How many rows are in each state."""
    with driver.connect() as connection:
        return Counter(
            found[0] for found in connection.fetch(Statement("states", "SELECT state FROM river_job", {}))
        )


class Watched:
    """A driver that counts the statements that pass, and can refuse some."""

    def __init__(self, inner: Driver) -> None:
        self.inner = inner
        self.sql = inner.sql
        self.names: Counter[str] = Counter()
        self.failures = 0

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Lend a connection that reports to this driver."""
        with self.inner.connect() as connection:
            yield _WatchedConnection(connection, self)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


class _WatchedConnection:
    def __init__(self, inner: Connection, watch: Watched) -> None:
        self.inner, self.watch = inner, watch

    def fetch(self, statement: Statement) -> list[Row]:
        self.watch.names[statement.name] += 1
        if self.watch.failures:
            self.watch.failures -= 1
            raise OperationalError("the connection broke")
        return self.inner.fetch(statement)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


def test_one_flush_is_one_statement(driver: Driver) -> None:
    """500 successes are written together."""
    watched = Watched(driver)
    flush(watched, [done(job) for job in claimed(driver, 500)])  # type: ignore[arg-type]  # wraps a Driver
    assert states(driver) == {"completed": 500}
    assert watched.names["job_set_completed_if_running_many"] == 1
    assert watched.names["job_set_state_if_running_many"] == 0


def test_a_mixed_flush_is_two_statements(driver: Driver) -> None:
    """Successes are written together, and together whatever else there is; rows that were lost are left."""
    watched = Watched(driver)
    good, bad, lost, kept = claimed(driver, 4)
    with driver.connect() as connection:
        connection.fetch(
            work.job_set_state_if_running_many(
                driver.sql, CLIENT, [AttemptChange(lost.id, 1, set_interrupted(datetime.now(UTC), 0, {}))]
            )
        )
    failed = Completion(bad, set_interrupted(datetime.now(UTC), 0, {"seen": 1}), EventKind.JOB_INTERRUPTED)
    flush(watched, [done(kept, output={"a": 'say "x" \\'}), failed, done(lost), done(good)])  # type: ignore[arg-type]
    assert states(driver) == {"completed": 2, "available": 2}
    assert row(driver, kept.id).metadata == {"output": {"a": 'say "x" \\'}}
    assert row(driver, bad.id).metadata == {"seen": 1}
    assert watched.names["job_set_completed_if_running_many"] == 1
    assert watched.names["job_set_state_if_running_many"] == 1


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(InsertParams(kind="k1", encoded_args="{}", priority=9), id="check constraint"),
        pytest.param(InsertParams(kind="k" * 128, encoded_args="{}"), id="length constraint"),
    ],
)
def test_one_bad_outcome_of_500_fails_alone(driver: Driver, broken: InsertParams) -> None:
    """499 are written; the one whose follow-up violates a constraint records that error and is retried."""
    batch = [done(job) for job in claimed(driver, 500)]
    culprit = batch[123].row
    batch[123] = done(culprit, (FollowUp(broken),))
    flush(driver, batch)
    assert states(driver) == {"completed": 499, "available": 1}
    after = row(driver, culprit.id)
    assert after.state is JobState.AVAILABLE
    [error] = after.errors
    assert "priority_in_range" in error.error or "kind_length" in error.error


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}], ids=["nan", "object", "set"])
def test_metadata_that_is_no_json_fails_alone(driver: Driver, value: object) -> None:
    """The outcome is not lost: the attempt fails with the reason."""
    batch = [done(job) for job in claimed(driver, 20)]
    culprit = batch[7].row
    batch[7] = done(culprit, output=value)
    flush(driver, batch)
    assert states(driver) == {"completed": 19, "available": 1}
    assert len(row(driver, culprit.id).errors) == 1


@pytest.mark.postgres
def test_a_nul_in_metadata_fails_alone(postgres_driver: Driver) -> None:
    """Postgres refuses it in jsonb."""
    batch = [done(job) for job in claimed(postgres_driver, 20)]
    batch[7] = done(batch[7].row, output="a\x00b")
    flush(postgres_driver, batch)
    assert states(postgres_driver) == {"completed": 19, "available": 1}


def test_a_follow_up_is_inserted_with_the_outcome_and_linked(driver: Driver) -> None:
    """The finished row names the new one; both are written or neither."""
    [job] = claimed(driver, 1)
    follow_up = FollowUp(InsertParams(kind="k2", encoded_args='{"n":1}'), "python_task_retry_id")
    flush(driver, [done(job, (follow_up,), python_task_outcome="retried")])
    after = row(driver, job.id)
    successor = row(driver, after.metadata["python_task_retry_id"])
    assert (after.state, after.metadata["python_task_outcome"]) == (JobState.COMPLETED, "retried")
    assert (successor.kind, successor.state, successor.args) == ("k2", JobState.AVAILABLE, {"n": 1})


def test_a_stale_attempt_inserts_no_follow_up_and_changes_nothing(driver: Driver) -> None:
    """Checklist 90. The row was given to somebody else meanwhile."""
    [job] = claimed(driver, 1)
    stale = replace(job, attempt=job.attempt + 1)
    flush(driver, [done(stale, (FollowUp(InsertParams(kind="k2", encoded_args="{}")),), mark=1)])
    assert states(driver) == {"running": 1}
    assert "mark" not in row(driver, job.id).metadata


def test_another_clients_claim_is_left_alone(driver: Driver) -> None:
    """Checklist 90. The same attempt number, claimed by another client."""
    [job] = claimed(driver, 1)
    executor = Executor(Registry(), DefaultRetryPolicy(), SystemClock(), None)
    completer = Completer(
        OutcomeWriter(driver, "someone_else", InsertNotifyLimiter(), executor.broken),
        executor.rejected,
        lambda batch, states: None,
    )
    completer.put(done(job))
    completer.start()
    assert completer.stop(60)
    assert row(driver, job.id).state is JobState.RUNNING


@pytest.mark.parametrize("kind", ["retry", "interruption"])
def test_a_cancelled_job_that_does_not_succeed_becomes_cancelled(driver: Driver, kind: str) -> None:
    """Checklist 87, 88. The mark wins over every outcome that is not final; time and attempt stay."""
    [job] = claimed(driver, 1)
    with driver.connect() as connection:
        connection.fetch(jobs.job_cancel(driver.sql, job.id, "2026-08-07T14:32:57Z"))
    now = datetime.now(UTC)
    error = replace(
        Executor(Registry(), DefaultRetryPolicy(), SystemClock(), None).rejected(job, ValueError("x"))
    ).error
    assert error is not None
    change = set_error(now, True, error, {}) if kind == "retry" else set_interrupted(now, 0, {})
    flush(driver, [Completion(job, change, EventKind.JOB_FAILED)])
    after = row(driver, job.id)
    assert (after.state, after.attempt, after.scheduled_at) == (JobState.CANCELLED, 1, job.scheduled_at)
    assert after.finalized_at is not None
    assert len(after.errors) == (1 if kind == "retry" else 0)


def test_success_wins_over_a_cancellation_mark(driver: Driver) -> None:
    """Checklist 89. A final outcome stays what it is."""
    [job] = claimed(driver, 1)
    with driver.connect() as connection:
        connection.fetch(jobs.job_cancel(driver.sql, job.id, "2026-08-07T14:32:57Z"))
    flush(driver, [done(job)])
    assert row(driver, job.id).state is JobState.COMPLETED


def test_a_broken_connection_is_tried_again(driver: Driver) -> None:
    """Nothing is lost while the database is away for some statements."""
    watched = Watched(driver)
    batch = [done(job) for job in claimed(driver, 3)]
    watched.failures = 5
    with completing(watched, batch) as completer:  # type: ignore[arg-type]  # wraps a Driver
        wait_for(lambda: completer.backlog == 0 and states(driver) == {"completed": 3}, "the write")


def test_a_deleted_row_is_no_error(driver: Driver) -> None:
    """Checklist 86. The others of its flush are written."""
    batch = [done(job) for job in claimed(driver, 3)]
    with driver.connect() as connection:
        connection.run_script(f"DELETE FROM river_job WHERE id = {batch[1].row.id}")
    flush(driver, batch)
    assert states(driver) == {"completed": 2}


def colliding(driver: Driver) -> list[JobRow]:
    """Two claimed rows that can end neither completed nor discarded one after the other."""
    taken = claimed(driver, 2)
    key = "'\\x0102'" if driver.sql.dialect is Dialect.POSTGRES else "x'0102'"
    states = "B'00001100'" if driver.sql.dialect is Dialect.POSTGRES else "12"
    with driver.connect() as connection:
        connection.run_script(f"UPDATE river_job SET unique_key = {key}, unique_states = {states}")
    return taken


def test_an_outcome_that_is_refused_in_every_form_holds_up_no_other(driver: Driver) -> None:
    """Its row collides as completed and as discarded; all other outcomes are written all the same."""
    first, second = colliding(driver)
    others = claimed(driver, 20)
    stuck = replace(second, max_attempts=1)
    batch = [done(first), Completion(stuck, done(second).change, EventKind.JOB_COMPLETED), *map(done, others)]
    with completing(driver, batch) as completer:
        wait_for(lambda: states(driver)["completed"] == 21, "the others")
    assert states(driver) == {"completed": 21, "running": 1}
    assert completer.lost == 1


def test_outcomes_are_written_when_an_outage_ends_during_the_stop(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop is patient: what is given up runs a second time elsewhere."""
    watched = Watched(driver)
    batch = [done(job) for job in claimed(driver, 3)]
    watched.failures = 9
    with completing(watched, batch) as completer:  # type: ignore[arg-type]  # wraps a Driver
        completer.ask_stop()
        wait_for(lambda: states(driver) == {"completed": 3}, "the write")
    assert completer.lost == 0


def test_outcomes_that_are_given_up_are_counted(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process then does not exit as if all were well."""
    monkeypatch.setattr("river_core.worker.completer.DRAIN_SECONDS", 0.2)
    watched = Watched(driver)
    batch = [done(job) for job in claimed(driver, 3)]
    watched.failures = 1_000_000
    with completing(watched, batch) as completer:  # type: ignore[arg-type]  # wraps a Driver
        completer.ask_stop()
    assert completer.lost == 3
    assert states(driver) == {"running": 3}


def test_outcomes_too_large_for_a_statement_fail_alone(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Postgres would drop the connection, which looks like an outage and would be tried for ever."""
    monkeypatch.setattr("river_core.worker.outcome_writer.MAX_OUTCOMES_CHARACTERS", 10_000)
    batch = [done(job) for job in claimed(driver, 20)]
    batch[7] = done(batch[7].row, output="x" * 20_000)
    flush(driver, batch)
    assert states(driver) == {"completed": 19, "available": 1}
    assert "too large" in row(driver, batch[7].row.id).errors[0].error


def test_a_refused_value_is_not_quoted(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    """The database's DETAIL shows the whole row, arguments included; logs and errors do not."""
    [job] = claimed(driver, 1)
    secret = InsertParams(kind="k1", encoded_args='{"password":"hunter2"}', priority=9)
    flush(driver, [done(job, (FollowUp(secret),))])
    assert "hunter2" not in caplog.text
    assert "hunter2" not in (row(driver, job.id).encoded_errors or "")
    assert "priority_in_range" in caplog.text


def test_a_refused_outcome_is_not_tried_again_with_each_batch(driver: Driver) -> None:
    """It would halve every batch that it is part of, and fill the log."""
    first, second = colliding(driver)
    others = claimed(driver, 20)
    watched = Watched(driver)
    stuck = Completion(replace(second, max_attempts=1), done(second).change, EventKind.JOB_COMPLETED)
    with completing(watched, [done(first), stuck]) as completer:  # type: ignore[arg-type]  # wraps a Driver
        for number, job in enumerate(others, 2):
            completer.put(done(job))
            wait_for(lambda number=number: states(driver)["completed"] >= number, "the next outcome")
    assert watched.names["job_set_completed_if_running_many"] < 2 * len(others)


def test_an_outcome_that_comes_alone_is_written_where_it_came(driver: Driver) -> None:
    """Only while nothing else is written, so batches still grow with the load."""
    first, second = claimed(driver, 2)
    with completing(driver, []) as completer:
        wait_for(lambda: completer.take_turn(done(first)), "a completer that has nothing to do")
        assert completer.ids() == [first.id]
        assert not completer.take_turn(done(second))
        assert states(driver) == {"running": 2}
        completer.write_turn()
        assert row(driver, first.id).state is JobState.COMPLETED
        wait_for(lambda: row(driver, second.id).state is JobState.COMPLETED, "the other one")
        assert completer.ids() == []


def test_what_cannot_be_written_where_it_came_is_written_by_the_completer(driver: Driver) -> None:
    """It knows how to wait for an outage to end, and what to do with what is refused."""
    watched = Watched(driver)
    first, second = claimed(driver, 2)
    with completing(cast(Driver, watched), []) as completer:
        wait_for(lambda: completer.take_turn(done(first)), "a completer that has nothing to do")
        watched.failures = 1
        completer.write_turn()
        wait_for(lambda: row(driver, first.id).state is JobState.COMPLETED, "the second try")
        wait_for(lambda: completer.take_turn(done(second, broken=float("nan"))), "the next turn")
        completer.write_turn()
        wait_for(lambda: row(driver, second.id).state is not JobState.RUNNING, "the failure")


def test_who_gives_an_outcome_back_waits_for_no_room(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The completer's thread, which makes room, waits for the turn."""
    monkeypatch.setattr("river_core.worker.completer.HOLD_ABOVE", 0)
    watched = Watched(driver)
    [job] = claimed(driver, 1)
    with completing(cast(Driver, watched), []) as completer:
        wait_for(lambda: completer.take_turn(done(job)), "a completer that has nothing to do")
        watched.failures = 1
        threading.Thread(target=completer.write_turn, daemon=True).start()
        wait_for(lambda: row(driver, job.id).state is JobState.COMPLETED, "the second try")


def test_a_turn_is_used_whatever_leaving_a_slot_brings(driver: Driver) -> None:
    """Nobody else could write any more."""
    [job] = claimed(driver, 1)
    written: list[bool] = []

    class AllTurns:
        def take_turn(self, completion: Completion) -> bool:
            return True

        def write_turn(self) -> None:
            written.append(True)

    def freed() -> None:
        raise LookupError("nobody to tell")

    executor, loop = Executor(Registry(), DefaultRetryPolicy(), SystemClock(), None), EventLoop()
    nobody = cast(Inserter, None)
    slots = ThreadSlots("s", 1, executor, nobody, lambda completion: None, freed, loop, turns=AllTurns())
    running = RunningJob(Job(job, nobody), loop)
    slots._running[job.id] = running
    with pytest.raises(LookupError):
        slots._write_and_leave(running, done(job))
    assert written == [True]


def test_completing_one_row_needs_no_plan_of_its_own(postgres_driver: Driver) -> None:
    """To plan takes longer than to complete a row, so a plan is made once for a connection."""
    with postgres_driver.connect() as connection:
        sql = postgres_driver.sql
        for job in claimed(postgres_driver, 20):
            change = AttemptChange(job.id, job.attempt, done(job).change)
            connection.fetch(work.job_set_completed_if_running_many(sql, CLIENT, [change]))
        counts = "SELECT generic_plans FROM pg_prepared_statements WHERE statement LIKE '%unnest%metadata%'"
        assert connection.fetch(Statement("plans", counts, {}))[0][0] > 5
