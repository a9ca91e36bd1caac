"""How workflows are stored: rows that refer to each other, all or none, in few statements."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from kombu.exceptions import EncodeError

import river_core
from river_compat.celery import Celery, chain, chord, group
from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.job import JobRow, JobState
from river_core.worker.waiting_sweep import SweepTiming
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import rows_of
from tests.runtime.celery.test_transactions import open_connection

WAIT = 60.0


def all_rows(driver: Driver) -> list[JobRow]:
    """Every row there is, oldest first."""
    return sorted(Client(driver).job_list(limit=10_000).jobs, key=lambda row: row.id)


def test_chords_in_chords_stay_small(driver: Driver, tasks: SimpleNamespace) -> None:
    """Row 8.23, case O12. Twelve deep, under 200 KB in all; Celery needs hundreds of megabytes."""
    work = tasks.add.s(1, 1)
    for _ in range(12):
        work = chord([work.clone(), tasks.add.s(1, 1)], tasks.xsum.s())
    work.apply_async()
    rows = all_rows(driver)
    assert len(rows) == 25
    assert sum(len(row.encoded_args) + len(row.encoded_metadata) for row in rows) < 200_000


def test_a_long_chain_grows_by_its_rows(driver: Driver, tasks: SimpleNamespace) -> None:
    """Row 8.23. Every row has the same size, wherever in the chain it is."""
    chain(tasks.add.s(1, 1), *(tasks.add.s(1) for _ in range(200))).apply_async()
    sizes = [len(row.encoded_args) + len(row.encoded_metadata) for row in all_rows(driver)]
    assert len(sizes) == 201
    assert max(sizes[1:-1]) - min(sizes[1:-1]) < 40


@pytest.mark.parametrize("shape", ["chord", "group", "chain"])
def test_what_cannot_be_stored_leaves_nothing(driver: Driver, tasks: SimpleNamespace, shape: str) -> None:
    """Case O14. The third of five arguments is not serializable: no row at all."""
    members = [tasks.add.s(n if n != 2 else object(), 1) for n in range(5)]
    made = {"chord": chord(members, tasks.xsum.s()), "group": group(members), "chain": chain(*members)}
    with pytest.raises(EncodeError):
        made[shape].apply_async()
    assert all_rows(driver) == []


def test_a_workflow_is_part_of_the_callers_transaction(
    database_url: str, driver: Driver, tasks: SimpleNamespace, working: Working
) -> None:
    """Rows 3.25, 3.27. Rolled back it was never there, committed it runs."""
    work = chord([tasks.add.s(1, 1), tasks.add.s(2, 2)], tasks.xsum.s())
    with open_connection(database_url) as connection, river_core.join(connection):
        work.apply_async()
        connection.rollback()
    assert all_rows(driver) == []
    with open_connection(database_url) as connection:
        with river_core.join(connection):
            result = work.apply_async()
        connection.commit()
    with working():
        assert result.get(timeout=WAIT) == 6


@contextmanager
def counted(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the statements of a driver's connections."""
    names: list[str] = []
    with driver.connect() as connection:
        original = type(connection).fetch

    def fetch(self: Any, statement: Any) -> Any:
        names.append(statement.name)
        return original(self, statement)

    monkeypatch.setattr(type(connection), "fetch", fetch)
    yield names


def test_a_large_group_is_a_handful_of_statements(
    driver: Driver, tasks: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 3.27. Also a large chord."""
    with counted(driver, monkeypatch) as names:
        result = group(tasks.add.s(n, n) for n in range(3_000)).apply_async()
    assert len(result) == 3_000
    assert len(names) <= 6, names
    names.clear()
    with counted(driver, monkeypatch) as names:
        chord([tasks.add.s(n, n) for n in range(1_000)], tasks.xsum.s()).apply_async()
    assert len(names) <= 8, names


def test_options_of_the_whole_go_where_they_belong(
    app: Celery, driver: Driver, tasks: SimpleNamespace
) -> None:
    """Rows 8.2, 8.20. A chain's countdown delays its first task, a group's all, a chord's its header."""
    first = chain(tasks.add.s(1, 1), tasks.add.s(1)).apply_async(countdown=100, queue="other")
    assert [rows_of(app, node.id)[0].state for node in (first.parent, first)] == ["scheduled", "pending"]
    assert [rows_of(app, node.id)[0].queue for node in (first.parent, first)] == ["other", "celery"]
    members = group(tasks.add.s(1, 1), tasks.add.s(2, 2)).apply_async(countdown=100)
    assert {rows_of(app, node.id)[0].state for node in members} == {JobState.SCHEDULED}
    body = chord([tasks.add.s(1, 1)], tasks.xsum.s()).apply_async(countdown=100, queue="other")
    assert rows_of(app, body.parent[0].id)[0].state is JobState.SCHEDULED
    assert "python_task_delay" not in rows_of(app, body.id)[0].metadata
    assert {rows_of(app, node.id)[0].queue for node in (body, body.parent[0])} == {"other"}


def test_waiting_steps_count_from_when_they_can_run(
    app: Celery, tasks: SimpleNamespace, working: Working
) -> None:
    """Row 8.5. A countdown and an expiry of a later step do not start when the workflow is sent."""
    delayed = chain(tasks.add.s(1, 1), tasks.facts.s().set(countdown=1), tasks.facts.s().set(expires=30))
    with working():
        result = delayed.apply_async()
        result.get(timeout=WAIT)
        before, waited = rows_of(app, result.parent.parent.id)[0], rows_of(app, result.parent.id)[0]
    assert (waited.attempted_at - before.finalized_at).total_seconds() >= 0.9


def test_members_keep_their_priority(app: Celery, tasks: SimpleNamespace) -> None:
    """Row 8.22. The one before's goes on only with the setting, and only where a step has none of its own."""
    app.conf.task_priority_scheme = "redis"

    def priorities() -> list[Any]:
        result = chain(
            tasks.add.s(1, 1).set(priority=3), tasks.add.s(1), tasks.add.s(1).set(priority=9)
        ).apply_async()
        nodes = (result.parent.parent, result.parent, result)
        headers = [json.loads(rows_of(app, node.id)[0].args["task"]["headers"]) for node in nodes]
        return [each.get("priority") for each in headers]

    assert priorities() == [3, None, 9]
    app.conf.task_inherit_parent_priority = True
    assert priorities() == [3, 3, 9]


def test_steps_that_others_end_are_settled(
    app: Celery, driver: Driver, tasks: SimpleNamespace, working: Working
) -> None:
    """Row 8.7. Members cancelled and deleted by plain clients, and retried by one after they ended."""
    client = Client(driver)
    cancelled = chord([tasks.add.s(1, 1), tasks.add.si(2, 2)], tasks.xsum.s())()
    client.job_cancel(rows_of(app, cancelled.parent[1].id)[0].id)
    deleted = chain(tasks.add.s(1, 1).set(queue="nobody"), tasks.add.s(1))()
    client.job_delete(rows_of(app, deleted.parent.id)[0].id)
    once = chain(tasks.add.s(1, 1), tasks.say.s(), tasks.say.s())()
    with working() as worker:
        assert once.get(timeout=WAIT) == 2
        client.job_retry(rows_of(app, once.parent.id)[0].id)
        sweep = worker._parts.sweep  # its own turn comes only every half minute
        sweep._timing = SweepTiming(age=0.0)
        sweep._first = False
        sweep.run_once()
        for result in (cancelled, deleted):
            error = result.get(timeout=WAIT, propagate=False, follow_parents=False)
            assert result.state == "FAILURE", error
    assert rows_of(app, once.id)[0].attempt == 1
