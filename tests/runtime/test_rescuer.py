"""The rescuer takes stuck jobs back by River's rules and overwrites nothing that went on meanwhile."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from river_core.db.statement import Dialect
from river_core.drivers.base import Driver
from river_core.job import AttemptError, JobRow
from river_core.task import Job, Registry, Task
from river_core.worker.maintenance.rescuer import Rescuer, UnknownKinds
from tests.runtime.stored import NOW, FixedClock, put_running, read, run, states

HOUR = timedelta(hours=1)
STUCK = {"attempted_at": NOW - HOUR - timedelta(seconds=1)}
CLIENT = "go-client"
RESCUE = AttemptError(NOW, 1, "Stuck job rescued by JobRescuer", "")


class Timed(Task):
    """A task with a time-out of its own, and perhaps its own retry."""

    def __init__(self, kind: str, timeout: float | None, retry: Any = None) -> None:
        self.kind = kind
        self._timeout = timeout
        self._retry = retry

    def work(self, job: Job) -> None:
        """Do nothing."""

    def timeout(self, job: JobRow) -> float | None:
        """The time-out in seconds."""
        return self._timeout

    def next_retry(self, job: JobRow, error: BaseException) -> datetime | None:
        """What the test wants, which may raise."""
        return self._retry() if self._retry else None


def broken() -> datetime:
    raise RuntimeError("the policy is broken")


def tasks() -> Registry:
    registry = Registry().add("known", lambda job: None)
    registry.add(Timed("endless", None)).add(Timed("negative", -1)).add(Timed("day", 86400))
    registry.add(Timed("own", 0, lambda: NOW + timedelta(minutes=7))).add(Timed("broken", 0, broken))
    return registry


def rescue(driver: Driver, **options: Any) -> None:
    Rescuer(driver, tasks(), clock=FixedClock(), **options).run_once()


def test_rescues_only_what_is_older_than_the_horizon(driver: Driver) -> None:
    """At exactly an hour a job is left; a second later it is retryable with the rescue on record.

    Checklist 134.
    """
    young = put_running(driver, CLIENT, attempted_at=NOW - HOUR)
    old = put_running(driver, CLIENT, metadata={"a": 1}, **STUCK)
    rescue(driver)
    assert states(driver, young, old) == ["running", "retryable"]
    row = read(driver, old)
    assert row.errors == [RESCUE]
    assert row.metadata == {"a": 1, "river:rescue_count": 1}
    assert (row.attempt, row.finalized_at, row.attempted_by) == (1, None, ["earlier", CLIENT])
    assert timedelta(seconds=0.9) <= row.scheduled_at - NOW <= timedelta(seconds=1.1)


@pytest.mark.parametrize(("count", "after"), [(4, 5), (2.9, 3), ("4", 1), (None, 1), ([], 1)])
def test_counts_rescues(driver: Driver, count: Any, after: int) -> None:
    """Checklist 134. A number goes up by one from its floor; anything else counts as none."""
    job = put_running(driver, CLIENT, metadata={"river:rescue_count": count}, **STUCK)
    rescue(driver)
    assert read(driver, job).metadata == {"river:rescue_count": after}


def test_keeps_the_digits_of_other_metadata(driver: Driver) -> None:
    """Numbers that no float holds survive."""
    exact = "123456789012345678901234567890"
    job = put_running(driver, CLIENT, metadata={"n": int(exact)}, **STUCK)
    rescue(driver)
    assert exact in read(driver, job).encoded_metadata


def test_appends_to_older_errors(driver: Driver) -> None:
    """The rescue is the last error, and the next run counts both."""
    earlier = AttemptError(NOW - HOUR, 1, "first", "")
    job = put_running(driver, CLIENT, attempt=2, errors=[earlier.to_json()], **STUCK)
    rescue(driver)
    row = read(driver, job)
    assert [error.error for error in row.errors] == ["first", RESCUE.error]
    assert row.errors[1].attempt == 2
    assert row.scheduled_at - NOW >= timedelta(seconds=14.4)


def test_exhausted_and_cancelled_jobs_end(driver: Driver) -> None:
    """Checklist 134. The last attempt is discarded; a cancellation mark wins over everything else."""
    exhausted = put_running(driver, CLIENT, attempt=25, **STUCK)
    mark = {"cancel_attempted_at": "2026-08-07T14:00:00Z"}
    cancelled = put_running(driver, CLIENT, attempt=25, kind="endless", metadata=mark, **STUCK)
    rescue(driver)
    assert states(driver, exhausted, cancelled) == ["discarded", "cancelled"]
    assert read(driver, exhausted).finalized_at == read(driver, cancelled).finalized_at == NOW
    assert read(driver, cancelled).errors == [AttemptError(NOW, 25, RESCUE.error, "")]


def test_leaves_jobs_that_may_still_run(driver: Driver) -> None:
    """No time-out, or one that is not over, keeps a job; the task's own retry time is used otherwise.

    Checklist 135.
    """
    ids = [put_running(driver, CLIENT, kind=kind, **STUCK) for kind in ("endless", "negative", "day", "own")]
    rescue(driver)
    assert states(driver, *ids) == ["running", "running", "running", "retryable"]
    assert read(driver, ids[3]).scheduled_at == NOW + timedelta(minutes=7)


def test_without_a_time_out_of_the_worker_a_plain_job_is_left(driver: Driver) -> None:
    """Checklist 135. A task's 0 means the worker's time-out, here none."""
    job = put_running(driver, CLIENT, **STUCK)
    rescue(driver, job_timeout=None)
    assert states(driver, job) == ["running"]


def test_a_page_of_ignored_rows_does_not_hide_later_ones(driver: Driver) -> None:
    """Checklist 135. Pages go on by id whatever a page's rows come to."""
    ignored = [put_running(driver, CLIENT, kind="endless", **STUCK) for _ in range(4)]
    job = put_running(driver, CLIENT, **STUCK)
    rescuer = Rescuer(driver, tasks(), clock=FixedClock(), batch_rows=2)
    rescuer.batch_pause = (0, 0)
    rescuer.run_once()
    assert states(driver, *ignored, job) == ["running"] * 4 + ["retryable"]


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        (UnknownKinds.RETRY, "retryable"),
        (UnknownKinds.DISCARD, "discarded"),
        (UnknownKinds.IGNORE, "running"),
    ],
)
def test_unknown_kinds_follow_the_setting(driver: Driver, rule: UnknownKinds, state: str) -> None:
    """Checklist 138. Retried by default; Go discards."""
    job = put_running(driver, CLIENT, kind="of_another_language", **STUCK)
    rescue(driver, unknown_kinds=rule)
    assert states(driver, job) == [state]


def test_a_raising_policy_affects_only_its_job(driver: Driver) -> None:
    """Checklist 137. River's default back-off is used instead, and the others are rescued."""
    ids = [put_running(driver, CLIENT, kind=kind, **STUCK) for kind in ("broken", "known")]
    rescue(driver)
    assert states(driver, *ids) == ["retryable", "retryable"]
    assert read(driver, ids[0]).scheduled_at - NOW <= timedelta(seconds=1.1)


@pytest.mark.foreign_rows
def test_rows_that_no_client_should_write_affect_only_themselves(driver: Driver) -> None:
    """Checklist 137. Arguments and metadata that are no objects do not stop the pass."""
    ids = [
        put_running(driver, CLIENT, args=[1], kind="endless", **STUCK),
        put_running(driver, CLIENT, metadata=[1], **STUCK),
        put_running(driver, CLIENT, attempted_by=None, **STUCK),
        put_running(driver, CLIENT, **STUCK),
    ]
    rescue(driver)
    assert states(driver, *ids) == ["retryable"] * 4
    assert read(driver, ids[1]).encoded_metadata == "[1]"


CHANGES = {
    "completed": "UPDATE river_job SET state = 'completed', finalized_at = @now{cast} WHERE id = @id",
    "claimed again": "UPDATE river_job SET attempt = 2 WHERE id = @id",
    "refreshed": "UPDATE river_job SET attempted_at = @now{cast} WHERE id = @id",
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_what_changed_between_reading_and_writing_is_not_overwritten(driver: Driver, change: str) -> None:
    """A job that was completed, claimed anew or refreshed while it was judged is left as it is.

    Checklist 136.
    """
    cast = "::text::timestamptz" if driver.sql.dialect is Dialect.POSTGRES else ""
    job = put_running(driver, CLIENT, kind="slow_to_judge", **STUCK)

    def judge() -> datetime:
        run(driver, CHANGES[change].format(cast=cast), id=job, now=driver.sql.time(NOW))
        return NOW + HOUR

    registry = Registry().add(Timed("slow_to_judge", 0, judge))
    before = read(driver, job)
    Rescuer(driver, registry, clock=FixedClock()).run_once()
    after = read(driver, job)
    assert (after.errors, after.metadata, after.scheduled_at) == ([], {}, before.scheduled_at)
    assert after.state == ("completed" if change == "completed" else "running")
