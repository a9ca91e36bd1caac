"""Rows as River's Go client writes them are read, listed and worked; what we add fits beside it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.job import JobState
from river_core.task import Job
from tests.runtime.stored import NOW, put
from tests.runtime.workers import registry, row, running, wait_for

CLIENTS = [f"go_host_2026_08_07T14_30_05_{number:06}" for number in range(100)]
LOCAL = timezone(timedelta(hours=-5))
GO_ERROR = {
    "at": "2026-08-07T09:29:59.123456789-05:00",
    "attempt": 100,
    "error": "boom",
    "trace": "goroutine 1 [running]:\nmain.main()",
}
GO_METADATA = {"river:unique_nonce": "0123456789abcdef", "river:rescue_count": 1, "snoozes": 2}


def test_a_row_of_go_is_worked(driver: Driver) -> None:
    """Checklist 167. A local zone, nanoseconds, a hundred clients before us, River's keys in its metadata."""
    seen: list[dict[str, Any]] = []

    def work(job: Job) -> None:
        seen.append(job.args)
        if len(seen) == 1:
            raise RuntimeError("ours")

    job_id = put(
        driver,
        kind="from_go",
        args={"Name": "é", "Big": 9007199254740993},
        attempt=100,
        max_attempts=200,
        attempted_at=NOW,
        attempted_by=CLIENTS,
        errors=[GO_ERROR],
        metadata=GO_METADATA,
    )
    [before] = Client(driver).job_list().jobs
    assert before.errors[0].at == datetime(2026, 8, 7, 9, 29, 59, 123456, tzinfo=LOCAL)
    assert before.attempted_by == CLIENTS
    with running(driver, registry(from_go=work)) as worker:
        wait_for(lambda: len(row(driver, job_id).errors) == 2, "our error beside Go's")
        failed = row(driver, job_id)
        assert [error.error for error in failed.errors] == ["boom", "ours"]
        assert failed.errors[0] == before.errors[0]
        Client(driver).job_retry(job_id)
        wait_for(lambda: row(driver, job_id).state is JobState.COMPLETED, "the second attempt")
        assert row(driver, job_id).attempted_by == [*CLIENTS[2:], worker.id, worker.id]
    assert seen == [{"Name": "é", "Big": 9007199254740993}] * 2
    after = row(driver, job_id)
    assert after.attempt == 102
    assert (after.metadata["river:rescue_count"], after.metadata["snoozes"]) == (1, 2)
