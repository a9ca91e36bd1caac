"""Plugins around inserts: order, changes, and that they are part of the insertion's transaction."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from river_core import Client, EncodedArgs, InsertManyParams, InsertParams, InsertResult, Plugin, join
from river_core.db.notifications import TOPIC_INSERT
from river_core.drivers.base import Driver, Notification
from river_core.errors import RiverError, ValidationError
from river_core.job import JobState
from river_core.plugins import InsertOperation
from river_core.task import FunctionTask, Registry
from river_core.trailing import TrailingNotifications
from tests.conformance.listening import DEADLINE, heard_during, listening
from tests.conformance.raw_connections import application_connection, count_jobs

pytestmark = pytest.mark.usefixtures("either_client")

ONE, TWO = EncodedArgs("kind_one", "{}"), EncodedArgs("kind_two", "{}")


class Recorder(Plugin):
    """Notes every call under its name."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self.name, self.calls = name, calls

    def insert_many(self, params: list[InsertParams], operation: InsertOperation) -> list[InsertResult]:
        self.calls.append(f"{self.name} before {len(params)}")
        results = operation(params)
        self.calls.append(f"{self.name} after {len(results)}")
        return results

    def insert_begin(self, params: InsertParams) -> None:
        self.calls.append(f"{self.name} begin {params.kind}")

    def insert_end(self, result: InsertResult) -> None:
        self.calls.append(f"{self.name} end {result.job.kind}")


class Changing(Plugin):
    """Changes each job before it is written."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def insert_begin(self, params: InsertParams) -> InsertParams:
        return replace(params, **self.changes)


def test_one_job(driver: Driver) -> None:
    """Checklist 122. Middleware once, begin A B, the write, end B A; an object listed twice runs once."""
    calls: list[str] = []
    a, b = Recorder("A", calls), Recorder("B", calls)
    result = Client(driver, plugins=(a, b, a)).insert(ONE)
    assert result.job.state is JobState.AVAILABLE
    assert calls == [
        *("A before 1", "B before 1"),
        *("A begin kind_one", "B begin kind_one"),
        *("B end kind_one", "A end kind_one"),
        *("B after 1", "A after 1"),
    ]


def test_a_batch(driver: Driver) -> None:
    """Checklist 122. Middleware sees the whole batch once; all begin hooks run before the write."""
    calls: list[str] = []
    client = Client(driver, plugins=(Recorder("A", calls),))
    client.insert_many([InsertManyParams(ONE), InsertManyParams(TWO)])
    assert calls == [
        *("A before 2", "A begin kind_one", "A begin kind_two"),
        *("A end kind_one", "A end kind_two", "A after 2"),
    ]


def test_plugins_of_a_task(driver: Driver) -> None:
    """Those of a kind come last, for its jobs only; their middleware runs once for the batch."""
    calls: list[str] = []
    task = FunctionTask("kind_two", lambda job: None)
    task.plugins = (Recorder("own", calls),)
    registry = Registry().add("kind_one", lambda job: None).add(task)
    client = Client(driver, registry=registry, plugins=(Recorder("A", calls),))
    client.insert_many([InsertManyParams(ONE), InsertManyParams(TWO), InsertManyParams(TWO)])
    assert calls[:3] == ["A before 3", "own before 3", "A begin kind_one"]
    assert calls[3:7] == ["A begin kind_two", "own begin kind_two"] * 2
    assert calls[7:12] == ["A end kind_one", *["own end kind_two", "A end kind_two"] * 2]
    calls.clear()
    client.insert(ONE)
    assert not [call for call in calls if call.startswith("own")]


def test_insert_begin_may_change_the_row(driver: Driver) -> None:
    """What it returns is what is written, and the next hook sees it."""
    seen: list[str] = []

    class Seeing(Plugin):
        def insert_begin(self, params: InsertParams) -> None:
            seen.append(params.queue)

    client = Client(driver, plugins=(Changing(queue="mail", encoded_metadata='{"by":"hook"}'), Seeing()))
    job = client.job_get(client.insert(ONE).job.id)
    assert (job.queue, job.metadata["by"], seen) == ("mail", "hook", ["mail"])


@pytest.mark.parametrize(
    "changes",
    [{"state": JobState.COMPLETED}, {"queue": ""}, {"encoded_metadata": "[]"}, {"encoded_args": "1"}],
    ids=lambda changes: next(iter(changes)),
)
def test_rows_are_checked_again_after_the_hooks(driver: Driver, changes: dict[str, Any]) -> None:
    """Checklist 24. A bad state, or any other value, that a hook made rolls the batch back."""

    class Following(Plugin):
        def insert_begin(self, params: InsertParams) -> None:
            Client(driver).insert(EncodedArgs("follow_up", "{}"))

    with pytest.raises(ValidationError):
        Client(driver, plugins=(Following(), Changing(**changes))).insert(ONE)
    assert count_jobs(driver) == 0


def test_an_error_after_the_write_rolls_everything_back(driver: Driver) -> None:
    """The rows of the batch, and what a hook inserted itself, are gone."""

    class Following(Plugin):
        def insert_end(self, result: InsertResult) -> None:
            Client(driver).insert(EncodedArgs("follow_up", "{}"))

    class Refusing(Plugin):
        def insert_many(self, params: list[InsertParams], operation: InsertOperation) -> list[InsertResult]:
            operation(params)
            raise PermissionError("not these")

    with pytest.raises(PermissionError):
        Client(driver, plugins=(Refusing(), Following())).insert(ONE)
    assert count_jobs(driver) == 0
    Client(driver, plugins=(Following(),)).insert(ONE)
    assert count_jobs(driver) == 2


def test_middleware_must_return_the_results(driver: Driver) -> None:
    """One that returns nothing rolls the insert back, by name."""

    class Forgetful(Plugin):
        def insert_many(self, params: list[InsertParams], operation: InsertOperation) -> Any:
            operation(params)

    with pytest.raises(RiverError, match="must call its operation"):
        Client(driver, plugins=(Forgetful(),)).insert(ONE)
    assert count_jobs(driver) == 0


def test_in_the_caller_s_transaction(driver: Driver, database_url: str) -> None:
    """Hooks run there too: nothing of them or of the job is left after a rollback."""
    calls: list[str] = []

    class Following(Plugin):
        def insert_begin(self, params: InsertParams) -> None:
            Client(driver).insert(EncodedArgs("follow_up", "{}"))

    client = Client(driver, plugins=(Recorder("A", calls), Following()))
    with application_connection(database_url) as connection:
        with join(connection):
            client.insert(ONE)
        client.insert_tx(connection, TWO)
        connection.rollback()
        assert count_jobs(driver) == 0
        client.insert_tx(connection, TWO)
        connection.commit()
    assert count_jobs(driver) == 2
    assert calls.count("A end kind_two") == 2


def test_workers_are_notified_as_without_plugins(driver: Driver) -> None:
    """The queue of the row as it was written is announced."""
    client = Client(driver, plugins=(Changing(queue="mail"),))
    heard = heard_during(driver, lambda: client.insert(ONE))
    assert '"mail"' in str(heard)


@pytest.mark.blocking_only
def test_what_the_limiter_holds_back_is_announced_later(driver: Driver) -> None:
    """As without plugins: the second of two inserts in a row is told of by the trailing notification."""
    client = Client(
        driver, plugins=(Changing(queue="mail"),), trailing=TrailingNotifications(driver, delay=0.001)
    )
    heard: list[Notification] = []
    with listening(driver, TOPIC_INSERT) as listener:
        client.insert(ONE)
        client.insert(ONE)
        deadline = time.monotonic() + DEADLINE
        while len(heard) < 2 and time.monotonic() < deadline:
            heard += listener.wait(DEADLINE)
    assert ['"mail"' in item.payload for item in heard] == [True, True]


@pytest.mark.blocking_only
def test_rows_that_were_made_earlier(driver: Driver) -> None:
    """`insert_rows_on` runs plugins in the transaction that it is given, as every insert does."""
    calls: list[str] = []
    client = Client(driver, plugins=(Recorder("A", calls), Changing(queue="mail")))
    rows = [client.row_to_insert(args, None, datetime.now(UTC)) for args in (ONE, TWO)]
    assert calls == []
    with driver.connect() as connection, connection.transaction():
        results = client.insert_rows_on(connection, rows)
    assert [result.job.queue for result in results] == ["mail", "mail"]
    assert calls == [
        *("A before 2", "A begin kind_one", "A begin kind_two"),
        *("A end kind_one", "A end kind_two", "A after 2"),
    ]
