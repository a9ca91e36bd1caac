"""Members hand their ends over to the rows that wait for them, whoever ends them and however."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from river_core.client import Client
from river_core.db import jobs, work
from river_core.drivers.base import Driver
from river_core.insert import InsertParams
from river_core.inserting import InsertNotifyLimiter
from river_core.job import JobRow, JobState
from river_core.links import Break, Feed, HandOver, Links, Part, feeds_of, parts_of
from river_core.outcome import Completed, Failed, FollowUp, Outcome, set_completed, set_waiting
from river_core.task import Job, Registry, Task
from river_core.worker.completion import Completion
from river_core.worker.events import EventKind
from river_core.worker.handing_over import hand_over
from river_core.worker.outcome_writer import OutcomeWriter
from river_core.worker.waiting_sweep import SweepTiming, WaitingSweep
from tests.runtime.workers import row, running, wait_for

RESULT = "result"


class Step(Task):
    """Hands its `value` over, or fails; a waiting one notes its parts as its result."""

    kind = "step"
    has_waiting_jobs = True

    def work(self, job: Job) -> Outcome:
        """End as the arguments say."""
        parts = parts_of(job.row.metadata)
        value = ",".join(part for _, part in sorted(parts.items())) or job.args.get("value", "")
        feeds = feeds_of(job.row.metadata)
        if job.args.get("fail"):
            breaks = tuple(Break(target, index, {"by": job.row.id}) for target, index in feeds)
            return Failed(ValueError("no"), retry=False, hand_overs=breaks)
        job.update_metadata({RESULT: value})
        return Completed(hand_overs=tuple(Part(target, index, value) for target, index in feeds))

    def broken(self, job: JobRow, cause: Break) -> Outcome:
        """Break what waits for this one, and leave a row that says so."""
        breaks = tuple(Break(target, index, cause.cause) for target, index in feeds_of(job.metadata))
        told = FollowUp(InsertParams("step", json.dumps({"value": f"told of {job.id}"})))
        by = cause.cause.get("by")
        return Failed(
            ValueError(f"broken by {by}"), {"by": by}, False, trace="", follow_ups=(told,), hand_overs=breaks
        )

    def late_hand_over(self, member: JobRow | None, waiting: JobRow, index: int) -> HandOver | int | None:
        """Read the end from the member's row."""
        if member is not None and member.state is JobState.COMPLETED:
            successor = member.metadata.get("successor")
            return successor or Part(waiting.id, index, member.metadata[RESULT])
        return Break(waiting.id, index, {"by": None if member is None else member.id})


def step(*feeds: Feed, **args: Any) -> InsertParams:
    """A member."""
    return InsertParams("step", json.dumps(args), links=Links(feeds=feeds))


def waiting(name: str, *feeds: Feed, delay: float = 0.0) -> InsertParams:
    """A row that waits."""
    return InsertParams("step", "{}", state=JobState.PENDING, links=Links(name, feeds, delay))


def insert(driver: Driver, *rows: InsertParams) -> list[int]:
    """Insert and return the ids."""
    return [result.job.id for result in Client(driver).insert_params(rows)]


def final(driver: Driver, job_id: int) -> JobRow:
    """The row once it is final."""
    wait_for(lambda: row(driver, job_id).finalized_at is not None, f"the end of job {job_id}")
    return row(driver, job_id)


def test_the_last_part_makes_the_waiting_row_available(driver: Driver) -> None:
    """In the order of the indexes, down a chain of waiting rows."""
    ids = insert(
        driver,
        *(step(Feed("sum", index), value=f"v{index}") for index in range(7)),
        waiting("sum", Feed("last", 0)),
        waiting("last"),
    )
    with running(driver, Registry().add(Step())):
        assert final(driver, ids[-1]).metadata[RESULT] == "v0,v1,v2,v3,v4,v5,v6"
    assert row(driver, ids[-2]).metadata[RESULT] == "v0,v1,v2,v3,v4,v5,v6"


def test_a_failure_breaks_everything_behind_it_once(driver: Driver) -> None:
    """Both waiting rows are discarded with the cause, never run, and tell of it once each."""
    ids = insert(
        driver,
        step(Feed("sum", 0), fail=True),
        step(Feed("sum", 1), fail=True),
        step(Feed("sum", 2), value="late"),
        waiting("sum", Feed("last", 0)),
        waiting("last"),
    )
    with running(driver, Registry().add(Step())):
        last = final(driver, ids[-1])
        final(driver, ids[2])
    middle = row(driver, ids[-2])
    assert {middle.state, last.state} == {JobState.DISCARDED}
    assert middle.metadata["by"] in ids[:2]
    assert last.metadata["by"] == middle.metadata["by"]
    assert (middle.attempt, [error.error for error in last.errors]) == (
        0,
        [f"broken by {middle.metadata['by']}"],
    )
    told = [
        job.args["value"]
        for job in Client(driver).job_list(limit=100).jobs
        if "told" in job.args.get("value", "")
    ]
    assert sorted(told) == sorted([f"told of {ids[-2]}", f"told of {ids[-1]}"])


def test_a_part_that_comes_twice_counts_once(driver: Driver) -> None:
    """The first one stays."""
    ids = insert(driver, step(Feed("sum", 0)), step(Feed("sum", 1)), waiting("sum"))
    parts = [Part(ids[-1], 0, "first"), Part(ids[-1], 0, "again")]
    for part in parts:
        with driver.connect() as connection, connection.transaction():
            assert not hand_over(connection, driver.sql, [part], Step.never).queues  # type: ignore[attr-defined]
    assert parts_of(row(driver, ids[-1]).metadata) == {0: "first"}
    with driver.connect() as connection, connection.transaction():
        done = hand_over(connection, driver.sql, [Part(ids[-1], 1, "other")], Step.never)  # type: ignore[attr-defined]
    assert done.queues == {"default"}
    after = row(driver, ids[-1])
    assert (after.state, parts_of(after.metadata)) == (JobState.AVAILABLE, {0: "first", 1: "other"})


def test_a_break_after_the_part_of_the_same_member_counts_for_nothing(driver: Driver) -> None:
    """Whoever set the member back: its first end stands."""
    ids = insert(driver, step(Feed("sum", 0)), step(Feed("sum", 1)), waiting("sum"))
    for item in (Part(ids[-1], 0, "first"), Break(ids[-1], 0)):
        with driver.connect() as connection, connection.transaction():
            hand_over(connection, driver.sql, [item], Step.never)  # type: ignore[attr-defined]
    after = row(driver, ids[-1])
    assert (after.state, parts_of(after.metadata)) == (JobState.PENDING, {0: "first"})


def test_parts_reach_a_row_that_was_set_going_by_hand(driver: Driver) -> None:
    """It takes them whatever its state, and starts by itself once it waits again."""
    ids = insert(driver, step(Feed("sum", 0)), step(Feed("sum", 1)), waiting("sum"))
    assert Client(driver).job_retry(ids[-1]).state is JobState.AVAILABLE
    for index in (0, 1):
        with driver.connect() as connection, connection.transaction():
            done = hand_over(connection, driver.sql, [Part(ids[-1], index, "x")], Step.never)  # type: ignore[attr-defined]
        assert not done.queues
    after = row(driver, ids[-1])
    assert (after.state, parts_of(after.metadata)) == (JobState.AVAILABLE, {0: "x", 1: "x"})


def test_a_row_without_its_parts_is_put_back_and_spends_no_attempt(driver: Driver) -> None:
    """Its task is not called; what came while it ran starts it in the transaction that puts it back."""
    far = datetime(2100, 1, 1, tzinfo=UTC)
    later = replace(step(Feed("sum", 0), value="v"), state=JobState.SCHEDULED, scheduled_at=far)
    ids = insert(driver, later, waiting("sum"))
    client = Client(driver)
    client.job_retry(ids[1])
    with running(driver, Registry().add(Step())):
        wait_for(lambda: row(driver, ids[1]).state is JobState.PENDING, "the return")
        assert (row(driver, ids[1]).attempt, row(driver, ids[1]).errors) == (0, [])
        client.job_retry(ids[0])
        assert final(driver, ids[1]).metadata[RESULT] == "v"
    assert row(driver, ids[1]).attempt == 1


def test_a_part_that_came_meanwhile_starts_the_row_that_is_put_back(driver: Driver) -> None:
    """Both are in one transaction: no sweep is needed."""
    ids = insert(driver, step(Feed("sum", 0), value="v"), waiting("sum"))
    Client(driver).job_retry(ids[1])
    with driver.connect() as connection, connection.transaction():
        claimed = connection.fetch(work.job_get_available(driver.sql, "default", "me", 9))
        rows = [jobs.decode_job(driver.sql, found[: jobs.COLUMN_COUNT]) for found in claimed if found[0]]
    [waiting_row] = [item for item in rows if item.id == ids[1]]
    with driver.connect() as connection, connection.transaction():
        hand_over(connection, driver.sql, [Part(ids[1], 0, "v")], Step.never)  # type: ignore[attr-defined]
    woken: list[str] = []
    back = Completion(waiting_row, set_waiting(0, {}), EventKind.JOB_INTERRUPTED)
    writer = OutcomeWriter(driver, "me", InsertNotifyLimiter(), Step.never, wake=woken.extend)  # type: ignore[attr-defined]
    writer.write([back])
    assert (row(driver, ids[1]).state, woken) == (JobState.AVAILABLE, ["default"])


@pytest.mark.parametrize("broken_at", ["hand_over", "insert", "end"])
def test_a_hand_over_and_the_end_it_belongs_to_are_one_transaction(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, broken_at: str
) -> None:
    """Whichever statement is the last one that is run: nothing of it stays."""
    ids = insert(driver, step(Feed("sum", 0), value="v"), waiting("sum"))
    with driver.connect() as connection, connection.transaction():
        claimed = connection.fetch(work.job_get_available(driver.sql, "default", "me", 9))
        member = jobs.decode_job(driver.sql, claimed[0][: jobs.COLUMN_COUNT])
    told = FollowUp(InsertParams("step", "{}"))
    end = set_completed(member.created_at, {}, Completed({}, (told,), (Part(ids[1], 0, "v"),)))
    writer = OutcomeWriter(driver, "me", InsertNotifyLimiter(), Step.never)  # type: ignore[attr-defined]
    name = {"hand_over": "_hand_over", "insert": "_insert_follow_ups", "end": "_set_states"}[broken_at]
    whole = getattr(OutcomeWriter, name)

    def breaking(*args: Any) -> Any:
        whole(*args)
        raise ConnectionError("killed here")

    monkeypatch.setattr(OutcomeWriter, name, breaking)
    with pytest.raises(ConnectionError):
        writer.write([Completion(member, end, EventKind.JOB_COMPLETED)])
    assert row(driver, ids[0]).state is JobState.RUNNING
    assert (row(driver, ids[1]).state, parts_of(row(driver, ids[1]).metadata)) == (JobState.PENDING, {})
    assert len(Client(driver).job_list(limit=100).jobs) == 2


def test_the_sweep_starts_a_row_that_has_all_its_parts(driver: Driver) -> None:
    """As one that somebody made wait again by hand."""
    ids = insert(driver, step(Feed("sum", 0)), waiting("sum"))
    with driver.connect() as connection, connection.transaction():
        hand_over(connection, driver.sql, [Part(ids[1], 0, "v")], Step.never)  # type: ignore[attr-defined]
    Client(driver).job_update(ids[1], state=JobState.PENDING)
    with swept(driver) as sweep:
        sweep.run_once()
    assert row(driver, ids[1]).state is JobState.AVAILABLE


Step.never = staticmethod(lambda row, cause: pytest.fail("nothing is broken"))  # type: ignore[attr-defined]


@pytest.mark.parametrize(("delay", "state"), [(2.0, JobState.AVAILABLE), (60.0, JobState.SCHEDULED)])
def test_a_delay_counts_from_the_last_part(driver: Driver, delay: float, state: JobState) -> None:
    """River's own rule decides between available and scheduled."""
    ids = insert(driver, step(Feed("end", 0)), waiting("end", delay=delay))
    before = row(driver, ids[1]).scheduled_at
    with driver.connect() as connection, connection.transaction():
        hand_over(connection, driver.sql, [Part(ids[1], 0, "x")], Step.never)  # type: ignore[attr-defined]
    after = row(driver, ids[1])
    assert after.state is state
    assert delay - 0.01 <= (after.scheduled_at - before).total_seconds() < delay + 30


def test_a_stale_attempt_hands_nothing_over(driver: Driver) -> None:
    """The member was taken over meanwhile: its part comes from the attempt that counts."""
    ids = insert(driver, step(Feed("end", 0), value="late"), waiting("end"))
    client = Client(driver)

    class Lost(Step):
        def work(self, job: Job) -> Outcome:
            if job.row.id == ids[0]:
                client.job_update(job.row.id, attempt=9)
            return super().work(job)

    with running(driver, Registry().add(Lost())) as worker:
        wait_for(lambda: row(driver, ids[0]).attempt == 9 and worker.active == 0, "the stale end")
    assert row(driver, ids[1]).state is JobState.PENDING


@contextmanager
def swept(driver: Driver) -> Iterator[WaitingSweep]:
    """A sweep that looks at rows of any age, by hand."""
    registry = Registry().add(Step())
    decide = lambda job, cause: running_executor(registry).broken(job, cause)  # noqa: E731
    sweep = WaitingSweep(
        driver, registry, InsertNotifyLimiter(), decide, lambda queues: None, SweepTiming(3600.0, 0.0)
    )
    sweep.run_once()  # the first turn only waits
    yield sweep


def running_executor(registry: Registry) -> Any:
    """An executor for decisions."""
    from river_core.clock import SystemClock
    from river_core.retry import DefaultRetryPolicy
    from river_core.worker.executor import Executor

    return Executor(registry, DefaultRetryPolicy(), SystemClock(), None)


@pytest.mark.parametrize("how", ["cancelled", "deleted", "discarded"])
def test_members_ended_by_others_are_settled(driver: Driver, how: str) -> None:
    """Cancelled or deleted by plain client calls, discarded by a foreign rescuer."""
    ids = insert(driver, step(Feed("sum", 0), value="a"), step(Feed("sum", 1)), waiting("sum"))
    client = Client(driver)
    if how == "cancelled":
        client.job_cancel(ids[1])
    elif how == "deleted":
        client.job_delete(ids[1])
    else:
        client.job_update(ids[1], state=JobState.DISCARDED, finalized_at=row(driver, ids[1]).created_at)
    with swept(driver) as sweep:
        sweep.run_once()
    after = row(driver, ids[2])
    assert (after.state, after.metadata["by"]) == (JobState.DISCARDED, None if how == "deleted" else ids[1])


def test_members_completed_by_others_bring_their_part(driver: Driver) -> None:
    """Also where a successor has taken the member's place, which still runs at first."""
    [other] = insert(driver, InsertParams("step", "{}", encoded_metadata='{"result": "from the successor"}'))
    ids = insert(driver, step(Feed("sum", 0)), step(Feed("sum", 1)), waiting("sum"))
    client = Client(driver)
    now = row(driver, ids[0]).created_at
    for job_id, metadata in ((ids[0], {RESULT: "own"}), (ids[1], {"successor": other})):
        client.job_update(job_id, state=JobState.COMPLETED, finalized_at=now, metadata=metadata)
    with swept(driver) as sweep:
        sweep.run_once()
        assert parts_of(row(driver, ids[2]).metadata) == {0: "own"}
        client.job_update(other, state=JobState.COMPLETED, finalized_at=now)
        sweep.run_once()
    after = row(driver, ids[2])
    assert (after.state, parts_of(after.metadata)) == (
        JobState.AVAILABLE,
        {0: "own", 1: "from the successor"},
    )


def test_rows_whose_members_still_run_are_left_alone(driver: Driver) -> None:
    """Waiting is no fault."""
    ids = insert(driver, step(Feed("sum", 0)), waiting("sum"))
    before = replace(row(driver, ids[1]))
    with swept(driver) as sweep:
        sweep.run_once()
    assert row(driver, ids[1]) == before


STRANGE = [
    {"python_task_members": "1", "python_task_parts": "[1]"},
    {"python_task_members": "1", "python_task_parts": "no JSON"},
    {"python_task_members": "1", "python_task_parts": '{"0": 5}'},
    {"python_task_members": "a-b"},
    {"python_task_members": "1-99999999999"},
    {"python_task_members": "1", "python_task_delay": "soon"},
    {"python_task_members": "1", "python_task_delay": 1e308},
]


@pytest.mark.parametrize("metadata", STRANGE, ids=[json.dumps(item)[-30:] for item in STRANGE])
def test_a_waiting_row_that_a_stranger_wrote_ends_alone(driver: Driver, metadata: dict[str, Any]) -> None:
    """Its member succeeds, and so do jobs whose ends are written with it."""
    strange = InsertParams("step", "{}", state=JobState.PENDING, encoded_metadata=json.dumps(metadata))
    [waiting_id] = insert(driver, strange)
    feeds = json.dumps({"python_task_feeds": f"{waiting_id}:0"})
    ids = insert(driver, InsertParams("step", "{}", encoded_metadata=feeds), *[step() for _ in range(5)])
    with running(driver, Registry().add(Step())):
        assert {final(driver, job_id).state for job_id in ids} == {JobState.COMPLETED}
        assert final(driver, waiting_id).state is JobState.DISCARDED


def test_a_waiting_row_that_a_stranger_wrote_does_not_stop_the_sweep(driver: Driver) -> None:
    """It is ended, and the healthy one beside it is settled."""
    strange = json.dumps({"python_task_members": "a b"})
    [bad] = insert(driver, InsertParams("step", "{}", state=JobState.PENDING, encoded_metadata=strange))
    ids = insert(driver, step(Feed("sum", 0)), waiting("sum"))
    Client(driver).job_cancel(ids[0])
    with swept(driver) as sweep:
        sweep.run_once()
    assert {row(driver, bad).state, row(driver, ids[1]).state} == {JobState.DISCARDED}
