"""Members of a large group are written while the next ones are made, all or none of them."""

from __future__ import annotations

import gc
import os
from types import SimpleNamespace
from typing import Any

import pytest

import river_core
from river_compat.celery import Celery, group, signals
from river_compat.celery.canvas import collector, overlapping
from river_core import errors, inserting_overlapped
from river_core.client import Client
from river_core.drivers.base import Driver
from river_core.drivers.psycopg import PsycopgDriver
from river_core.drivers.psycopg_connection import OwnConnection
from tests.runtime.celery.canvas.test_alike import ARGUMENTS, stored

FEW, CHUNK = 10, 4
MEMBERS = 30


class Unspeakable:
    """No serializer knows it."""


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlapping, "FEW", FEW)
    monkeypatch.setattr(overlapping, "CHUNK_ROWS", CHUNK)
    for signal in (signals.before_task_publish, signals.after_task_publish, signals.task_sent):
        monkeypatch.setattr(signal, "receivers", [])  # what other tests of this process left connected


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many statements each overlapped insert has sent."""
    sent: list[int] = []
    ordinary = OwnConnection.fetch_each

    def counted(self: OwnConnection, statements: Any) -> Any:
        sent.append(0)

        def each() -> Any:
            for statement in statements:
                sent[-1] += 1
                yield statement

        return ordinary(self, each())

    monkeypatch.setattr(OwnConnection, "fetch_each", counted)
    return sent


def names(driver: Driver) -> list[str]:
    """Return the texts of all rows."""
    return [row.encoded_args for row in Client(driver).job_list(limit=1000).jobs]


@pytest.mark.parametrize("options", [{}, {"queue": "q", "shadow": "s"}, {"ignore_result": True}])
def test_the_rows_are_those_of_the_ordinary_way(
    app: Celery, driver: Driver, tasks: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, options: Any
) -> None:
    """Row 8.4. Text by text, on every database, with their handles."""

    def send() -> Any:
        members = [tasks.add.s(value, y=value).set(**options) for value in ARGUMENTS * 3]
        return group(members).apply_async()

    found = send()
    rows = sorted(Client(driver).job_list(limit=1000).jobs, key=lambda row: row.id)
    assert [result._row_id for result in found.results] == [row.id for row in rows]
    assert all(result.id in row.encoded_args for result, row in zip(found.results, rows, strict=True))
    overlapped = stored(driver, app)
    monkeypatch.setattr(overlapping, "FEW", 10_000)
    send()
    assert overlapped == stored(driver, app)


def test_members_are_sent_while_the_next_are_made(postgres_driver: PsycopgDriver, sent: list[int]) -> None:
    """Row 8.4. One statement a chunk, in one transaction."""
    app, task = _application(postgres_driver)
    group(task.s(n) for n in range(MEMBERS)).delay()
    assert sent == [-(-MEMBERS // CHUNK)]
    with postgres_driver.connect() as connection:
        transactions = connection.raw.execute("SELECT count(DISTINCT xmin::text) FROM river_job").fetchone()
    assert transactions == (1,)
    app.close()


def test_a_member_that_cannot_be_sent_leaves_nothing_written(
    postgres_driver: PsycopgDriver, sent: list[int]
) -> None:
    """Row 3.2. Whether its arguments do not fit, cannot be serialized, or are refused by the database."""
    app, task = _application(postgres_driver)
    for wrong, error in (((1, 2), TypeError), ((Unspeakable(),), Exception)):
        members = [task.s(n) for n in range(MEMBERS)]
        members[-2] = task.s(*wrong)
        with pytest.raises(error):
            group(members).delay()
        assert names(postgres_driver) == []
    assert len(sent) == 2
    group(task.s(n) for n in range(MEMBERS)).delay()
    assert len(names(postgres_driver)) == MEMBERS
    app.close()


def test_a_row_that_the_database_refuses_leaves_nothing_written(
    postgres_driver: PsycopgDriver, sent: list[int]
) -> None:
    """Row 8.4. The error is that of the ordinary way, and the connection goes on."""
    app, task = _application(postgres_driver)
    with postgres_driver.connect() as connection:
        connection.run_script("ALTER TABLE river_job ADD CHECK (args->'task'->>'args_repr' <> '(13,)')")
        process = connection.raw.info.backend_pid
    with pytest.raises(errors.RejectedValueError):
        group(task.s(n) for n in range(MEMBERS)).delay()
    assert names(postgres_driver) == []
    group(task.s(n) for n in range(MEMBERS) if n != 13).delay()
    assert len(names(postgres_driver)) == MEMBERS - 1
    assert len(sent) == 2
    with postgres_driver.connect() as connection:
        assert connection.raw.info.backend_pid == process
    app.close()


def test_a_lost_connection_is_tried_again_with_all_rows(
    postgres_driver: PsycopgDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 8.4. All members are written once."""
    app, task = _application(postgres_driver)
    ordinary = inserting_overlapped.job_inserts.job_insert_alike
    calls: list[int] = []

    def cut(sql: Any, rows: Any, payloads: Any) -> Any:
        calls.append(len(rows))
        if len(calls) == 3:
            raise errors.OperationalError("the connection was lost")
        return ordinary(sql, rows, payloads)

    monkeypatch.setattr(inserting_overlapped.job_inserts, "job_insert_alike", cut)
    found = group(task.s(n) for n in range(MEMBERS)).delay()
    assert calls == [CHUNK, CHUNK, CHUNK, MEMBERS]
    assert len(names(postgres_driver)) == MEMBERS
    assert len({result._row_id for result in found.results}) == MEMBERS
    app.close()


def test_the_callers_transaction_gets_all_members_at_once(
    postgres_driver: PsycopgDriver, sent: list[int]
) -> None:
    """Row 8.4. There a chunk could not be taken back alone."""
    app, task = _application(postgres_driver)
    with postgres_driver.connect() as connection:
        raw = connection.raw
        with raw.transaction(force_rollback=True), river_core.join(raw):
            group(task.s(n) for n in range(MEMBERS)).delay()
            assert raw.execute("SELECT count(*) FROM river_job").fetchone() == (MEMBERS,)
    assert names(postgres_driver) == []
    assert sent == []
    app.close()


def test_plugins_see_the_members(postgres_driver: PsycopgDriver, sent: list[int]) -> None:
    """Row 8.4. All at once, as of any other group."""
    seen: list[int] = []

    class Counting(river_core.Plugin):
        def insert_many(self, params: Any, operation: Any) -> Any:
            seen.append(len(params))
            return operation(params)

    app, task = _application(postgres_driver, river_plugins=[Counting()])
    group(task.s(n) for n in range(MEMBERS)).delay()
    assert (seen, sent) == ([MEMBERS], [])
    app.close()


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_as_before_afterwards(
    postgres_driver: PsycopgDriver, enabled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 8.4. It rests while members are made, whether that succeeds or not, and never in a forked child."""
    app, task = _application(postgres_driver)
    was: list[bool] = []
    ordinary = OwnConnection.fetch_each

    def looked(self: OwnConnection, statements: Any) -> Any:
        process = os.fork()
        if process == 0:
            os._exit(gc.isenabled())
        was.extend([gc.isenabled(), bool(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))])
        return ordinary(self, statements)

    monkeypatch.setattr(OwnConnection, "fetch_each", looked)
    (gc.enable if enabled else gc.disable)()
    try:
        group(task.s(n) for n in range(MEMBERS)).delay()
        assert gc.isenabled() is enabled
        with pytest.raises(TypeError):
            group(task.s(*range(1 + (n == MEMBERS - 1))) for n in range(MEMBERS)).delay()
        assert gc.isenabled() is enabled
        monkeypatch.setattr(collector, "MOST_MEMBERS", MEMBERS - 1)
        group(task.s(n) for n in range(MEMBERS)).delay()
    finally:
        gc.enable()
        app.close()
    assert was == [False, enabled, False, enabled, enabled, enabled]


def _application(driver: Driver, **settings: Any) -> tuple[Celery, Any]:
    app = Celery("runtime", set_as_current=False, river_driver=driver)
    app.conf.update(settings)

    @app.task(name="take")
    def take(value: Any) -> Any:
        """Return the argument."""
        return value

    return app, take
