"""Workflows whose rows somebody else ends, deletes or sets going: what waits still ends, and ends right."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from river_compat.celery import Celery, chain, chord, group
from river_compat.celery.exceptions import ChordError, TaskRevokedError, WorkerLostError
from river_core import Client
from river_core.db.statement import Dialect, Statement
from river_core.job import JobRow, JobState
from river_core.worker import parts
from river_core.worker.waiting_sweep import SweepTiming, WaitingSweep
from tests.runtime.celery.conftest import Working
from tests.runtime.celery.rows import rows_of
from tests.runtime.workers import wait_for

WAIT = 60.0
NOW = {Dialect.POSTGRES: "now()", Dialect.SQLITE: "strftime('%Y-%m-%d %H:%M:%f', 'now')"}
ARRAY = {
    Dialect.POSTGRES: "ARRAY['{}'::jsonb]",
    Dialect.SQLITE: "jsonb('[{}]')",
}
GO_CANCEL = {
    Dialect.POSTGRES: "metadata = jsonb_set(metadata, '{cancel_attempted_at}', '\"2026-01-01T00:00:00Z\"')",
    Dialect.SQLITE: (
        "metadata = jsonb(json_set(river_json(metadata), '$.cancel_attempted_at', '2026-01-01T00:00:00Z'))"
    ),
}
STUCK = '{"at": "2026-01-01T00:00:00Z", "attempt": 1, "error": "Stuck job rescued by Rescuer", "trace": ""}'


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers look at waiting rows all the time, whatever their age."""
    monkeypatch.setattr(parts, "WaitingSweep", partial(WaitingSweep, timing=SweepTiming(0.1, 0.0)))


@pytest.fixture
def client(app: Celery) -> Client:
    """What people use beside the application."""
    return Client(app.runtime.driver)


def run_sql(app: Celery, text: str) -> None:
    """Run one statement of plain SQL."""
    with app.runtime.driver.connect() as connection, connection.transaction():
        connection.fetch(Statement("by_hand", text, {}))


def end_by_sql(state: str, more: Callable[[Dialect], str]) -> Callable[[Celery, int], None]:
    """What ends a row by an UPDATE."""

    def end(app: Celery, row_id: int) -> None:
        dialect = app.runtime.driver.sql.dialect
        columns = f"state = '{state}', finalized_at = {NOW[dialect]}{more(dialect)}"
        run_sql(app, f"UPDATE river_job SET {columns} WHERE id = {row_id}")

    return end


def _cancel(app: Celery, row_id: int) -> None:
    Client(app.runtime.driver).job_cancel(row_id)


def _delete(app: Celery, row_id: int) -> None:
    Client(app.runtime.driver).job_delete(row_id)


def _delete_by_sql(app: Celery, row_id: int) -> None:
    run_sql(app, f"DELETE FROM river_job WHERE id = {row_id}")


def _stuck(dialect: Dialect) -> str:
    return f", errors = {ARRAY[dialect].replace('{}', STUCK)}"


WAYS: dict[str, Callable[[Celery, int], None]] = {
    "cancelled": _cancel,
    "cancelled by SQL": end_by_sql("cancelled", lambda dialect: ""),
    "cancelled by Go": end_by_sql("cancelled", lambda dialect: f", {GO_CANCEL[dialect]}"),
    "deleted": _delete,
    "deleted by SQL": _delete_by_sql,
    "discarded by a rescuer": end_by_sql("discarded", _stuck),
}


def the_one(tasks: SimpleNamespace, immutable: bool = False) -> tuple[Any, str]:
    """A task that somebody will end, and its id."""
    task_id = str(uuid.uuid4())
    sig = tasks.identity.si(7) if immutable else tasks.identity.s()
    return sig.set(task_id=task_id), task_id


def shapes(t: Any) -> dict[str, tuple[Any, str, type[Exception] | None]]:
    """Workflows with a task to be ended, its id, and what the whole fails with; None for itself."""
    x: Callable[[], Any] = lambda: t.add.si(1, 1)  # noqa: E731
    places: dict[str, tuple[bool, Callable[[Any], Any], type[Exception] | None]] = {
        "header": (True, lambda v: chord([x(), v], t.say.s()), ChordError),
        "nested group": (True, lambda v: chord([group(x(), v), x()], t.say.s()), ChordError),
        "first of a chain in a header": (True, lambda v: chord([v | x(), x()], t.say.s()), ChordError),
        "waiting in a chain in a header": (False, lambda v: chord([x() | v, x()], t.say.s()), ChordError),
        "inner body": (False, lambda v: chord([chord([x(), x()], v), x()], t.say.s()), ChordError),
        "first of a chain": (True, lambda v: chain(v, t.say.s(), t.say.s()), Exception),
        "waiting in a chain": (False, lambda v: chain(x(), v, t.say.s()), Exception),
        "chord in a chain": (True, lambda v: chain(x(), chord([v, x()], t.say.s()), t.say.s()), ChordError),
        "body with a sequel": (False, lambda v: chain(chord([x(), x()], v), t.say.s()), Exception),
        "body": (False, lambda v: chord([x(), x()], v), None),
    }
    made = {}
    for name, (immutable, build, raised) in places.items():
        sig, task_id = the_one(t, immutable)
        made[name] = (build(sig), task_id, raised)
    return made


@pytest.mark.parametrize("way", WAYS)
def test_tasks_ended_by_others_end_what_waits(
    app: Celery, tasks: SimpleNamespace, working: Working, way: str
) -> None:
    """Row 8.7. Wherever in the workflow the task is; and the result of the whole tells of it."""
    made = {
        name: (sig.apply_async(), task_id, raised) for name, (sig, task_id, raised) in shapes(tasks).items()
    }
    for _, task_id, _ in made.values():
        WAYS[way](app, rows_of(app, task_id)[0].id)
    bare = WorkerLostError if way.startswith("discarded") else TaskRevokedError
    with working():
        for name, (result, _, raised) in made.items():
            if raised is None and way.startswith("deleted"):
                with pytest.raises(RuntimeError, match="was deleted"):
                    result.get(timeout=WAIT, follow_parents=False)
                continue
            error = result.get(timeout=WAIT, follow_parents=False, propagate=False)
            wanted = ChordError if raised is ChordError else bare
            assert type(error) is wanted, name
            assert (wanted is not ChordError) or bare.__name__ in str(error), name
            revoked = raised is None and way.startswith("cancelled")
            assert result.state == ("REVOKED" if revoked else "FAILURE"), name
        assert tasks.add.delay(1, 1).get(timeout=WAIT) == 2
    assert tasks.said == []
    assert Client(app.runtime.driver).job_list(states=["pending"]).jobs == []


@pytest.mark.parametrize("way", ["deleted by SQL", "discarded by a rescuer"])
def test_a_task_that_is_taken_away_while_it_runs(
    app: Celery, tasks: SimpleNamespace, working: Working, way: str
) -> None:
    """Row 8.7. What it returns afterwards counts for nothing."""
    began, go = threading.Event(), threading.Event()

    @app.task
    def held() -> int:
        began.set()
        assert go.wait(WAIT)
        return 1

    with working():
        result = chord([held.s(), tasks.add.s(1, 1)], tasks.say.s())()
        assert began.wait(WAIT)
        WAYS[way](app, rows_of(app, result.parent[0].id)[0].id)
        error = result.get(timeout=WAIT, follow_parents=False, propagate=False)
        go.set()
    assert isinstance(error, ChordError)
    assert tasks.said == []


@pytest.fixture
def counted(app: Celery, tasks: SimpleNamespace) -> SimpleNamespace:
    """`count` returns how often it has run, and may fail from its second run on; `gate` waits."""
    found = SimpleNamespace(runs=0, fails=False, began=threading.Event(), go=threading.Event())

    @app.task
    def count() -> int:
        found.runs += 1
        if found.fails and found.runs > 1:
            raise ValueError("no more")
        return int(found.runs)

    @app.task
    def gate() -> str:
        found.began.set()
        assert found.go.wait(WAIT)
        return "gate"

    found.count, found.gate = count, gate
    return found


def row_of(app: Celery, result: Any) -> JobRow:
    """The only row of a result's task."""
    [row] = rows_of(app, result.id)
    return row


@pytest.mark.parametrize("fails", [False, True])
def test_a_member_that_is_set_back_before_the_body_ran_counts_once(
    app: Celery, client: Client, tasks: SimpleNamespace, working: Working, counted: Any, fails: bool
) -> None:
    """Row 8.7. Its first value stays, also where it fails the second time."""
    counted.fails = fails
    with working():
        result = chord([counted.count.s(), counted.gate.s()], tasks.say.s())()
        assert result.parent[0].get(timeout=WAIT) == 1
        client.job_retry(row_of(app, result.parent[0]).id)
        wait_for(lambda: counted.runs == 2 and row_of(app, result.parent[0]).finalized_at, "the second run")
        counted.go.set()
        assert result.get(timeout=WAIT, follow_parents=False) == [1, "gate"]
    assert tasks.said == [[1, "gate"]]


@pytest.mark.parametrize("fails", [False, True])
def test_a_member_that_is_set_back_after_the_body_ran_runs_alone(
    app: Celery, client: Client, tasks: SimpleNamespace, working: Working, counted: Any, fails: bool
) -> None:
    """Row 8.7. The body keeps its result and does not run again."""
    counted.fails = fails
    with working():
        result = chord([counted.count.s(), tasks.add.s(1, 1)], tasks.say.s())()
        assert result.get(timeout=WAIT) == [1, 2]
        client.job_retry(row_of(app, result.parent[0]).id)
        wait_for(lambda: counted.runs == 2 and row_of(app, result.parent[0]).finalized_at, "the second run")
        assert tasks.add.delay(1, 1).get(timeout=WAIT) == 2
    assert tasks.said == [[1, 2]]
    assert app.AsyncResult(result.id).result == [1, 2]


def test_a_body_that_is_set_back_runs_again_with_the_same_values(
    app: Celery, client: Client, tasks: SimpleNamespace, working: Working
) -> None:
    """Row 8.7. They are in its own row."""
    with working():
        result = chord([tasks.add.s(1, 1), tasks.add.s(2, 2)], tasks.say.s())()
        assert result.get(timeout=WAIT) == [2, 4]
        client.job_retry(row_of(app, result).id)
        wait_for(lambda: len(tasks.said) == 2 and row_of(app, result).finalized_at, "the second run")
    assert tasks.said == [[2, 4], [2, 4]]


def test_a_waiting_step_that_is_set_going_by_hand_goes_on_waiting(
    app: Celery, client: Client, tasks: SimpleNamespace, working: Working, counted: Any
) -> None:
    """Row 8.7. It never runs with a part of its values, spends no attempt, and runs once in the end."""
    with working():
        body = chord([tasks.add.s(1, 1), counted.gate.s()], tasks.say.s())()
        chained = chain(counted.gate.si(), tasks.identity.s(), tasks.say.s())()
        assert counted.began.wait(WAIT)
        waiting = [row_of(app, item).id for item in (body, chained, chained.parent)]
        for row_id in waiting * 2:
            client.job_retry(row_id)
        wait_for(
            lambda: all(client.job_get(row_id).state is JobState.PENDING for row_id in waiting),
            "their waiting",
        )
        assert {client.job_get(row_id).attempt for row_id in waiting} == {0}
        counted.go.set()
        assert body.get(timeout=WAIT) == [2, "gate"]
        assert chained.get(timeout=WAIT) == "gate"
    assert sorted(tasks.said, key=str) == [[2, "gate"], "gate"]


def test_a_broken_chain_is_mended_by_hand(
    app: Celery, client: Client, tasks: SimpleNamespace, working: Working
) -> None:
    """Row 8.5. The step that failed is set back, and then those that failed because of it, in any order."""
    cured = threading.Event()

    @app.task
    def ill() -> str:
        if not cured.is_set():
            raise ValueError("ill")
        return "well"

    with working():
        result = chain(ill.s(), tasks.identity.s(), tasks.say.s())()
        assert isinstance(result.get(timeout=WAIT, propagate=False), ValueError)
        cured.set()
        steps = [result.parent.parent, result, result.parent]
        for item in steps:
            client.job_retry(row_of(app, item).id)
        wait_for(lambda: tasks.said, "the last step")
        assert app.AsyncResult(result.id).get(timeout=WAIT) == "well"
    assert tasks.said == ["well"]


def test_several_clients_settle_the_same_rows_once(
    app: Celery, tasks: SimpleNamespace, working: Working
) -> None:
    """Row 8.7. Their errbacks are sent once each, however many workers look."""
    told: list[str] = []

    @app.task
    def tell(task_id: str) -> None:
        told.append(task_id)

    results = []
    for _ in range(20):
        sig, task_id = the_one(tasks, immutable=True)
        results.append(chord([sig, tasks.add.s(1, 1)], tasks.say.s().on_error(tell.s()))())
        _delete_by_sql(app, rows_of(app, task_id)[0].id)
    with working(), working(), working():
        for result in results:
            assert isinstance(result.get(timeout=WAIT, follow_parents=False, propagate=False), ChordError)
        wait_for(lambda: len(told) >= len(results), "the errbacks")
        assert tasks.add.delay(1, 1).get(timeout=WAIT) == 2
    assert sorted(told) == sorted(result.id for result in results)
