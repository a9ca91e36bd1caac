"""Which commits wait for the disk, as a trigger sees it when the transaction commits.

The trigger notes whether `synchronous_commit` is off because the transaction says so: a server may have it
off by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import river_core
from river_compat.celery import Celery, group
from river_compat.celery.canvas import overlapping
from river_core.client import Client
from river_core.db import work
from river_core.db.statement import Dialect, Sql
from river_core.drivers.psycopg import PsycopgDriver
from river_core.drivers.sqlite import SqliteDriver
from river_core.insert import EncodedArgs, InsertManyParams, InsertOpts, InsertParams
from river_core.job import JobState
from river_core.links import Feed, Links
from river_core.worker.events import EventKind
from tests.runtime.celery.conftest import app, working  # noqa: F401 - fixtures
from tests.runtime.workers import next_event, registry, running

NOTE_COMMITS = """
    CREATE TABLE commit_note (id bigserial PRIMARY KEY, what text, relaxed boolean);
    CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO commit_note (what, relaxed)
        SELECT TG_OP || ' ' || NEW.state, setting = 'off' AND source = 'session'
        FROM pg_settings WHERE name = 'synchronous_commit';
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER note_commit AFTER INSERT OR UPDATE ON river_job
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_commit();
"""
ME = "claimer"
ARGS = EncodedArgs("quick", "{}")
OPTS = InsertOpts()


@pytest.fixture
def driver(postgres_driver: PsycopgDriver) -> PsycopgDriver:
    """A driver on Postgres, which notes each commit."""
    with postgres_driver.connect() as connection:
        connection.run_script(NOTE_COMMITS)
    return postgres_driver


def noted(driver: PsycopgDriver) -> set[tuple[str, bool]]:
    """Return what was done to rows and whether its commit was relaxed, and forget it."""
    with driver.connect() as connection:
        rows = connection.raw.execute("DELETE FROM commit_note RETURNING what, relaxed").fetchall()
    return set(rows)


def linked_rows() -> list[InsertParams]:
    """Return a waiting row and the one that it waits for."""
    waiting = InsertParams("quick", "{}", "q", JobState.PENDING, 1, 25, None, None, "{}", links=Links("last"))
    return [waiting, InsertParams("quick", "{}", "q", links=Links(feeds=(Feed("last", 0),)))]


WAYS: dict[str, Callable[[Client], Any]] = {
    "one": lambda client: client.insert(ARGS),
    "unique": lambda client: client.insert(ARGS, unique_opts=river_core.UniqueOpts(by_args=True)),
    "many": lambda client: client.insert_many([InsertManyParams(ARGS, OPTS)] * 3),
    "fast": lambda client: client.insert_many_fast([InsertManyParams(ARGS, OPTS)] * 3),
    "ids": lambda client: client.insert_for_ids([InsertParams("quick", "{}")] * 3),
    "made": lambda client: client.insert_while_made(iter([[InsertParams("quick", "{}")] * 2] * 2)),
    "links": lambda client: client.insert_params(linked_rows()),
    "after": lambda client: client.insert(ARGS, enqueue="after_commit"),
}


@pytest.mark.parametrize("way", WAYS)
def test_only_inserts_that_were_told_so_do_not_wait_for_the_disk(driver: PsycopgDriver, way: str) -> None:
    """Every way to insert on a connection of our own; the connection is as before afterwards."""
    relaxed, durable = Client(driver, durable_inserts=False), Client(driver)
    for client, expected in ((relaxed, True), (durable, False)):
        WAYS[way](client)
        assert {was for _, was in noted(driver)} == {expected}
        with driver.connect() as connection:
            connection.run_script("DELETE FROM river_job")


@pytest.mark.parametrize("way", ["one", "unique", "many", "fast", "ids", "links"])
def test_a_transaction_of_the_caller_stays_durable(driver: PsycopgDriver, way: str) -> None:
    """What else is in it must not be lost."""
    client = Client(driver, durable_inserts=False)
    with driver.connect() as connection:
        with connection.raw.transaction(), river_core.join(connection.raw):
            WAYS[way](client)
        connection.run_script("DELETE FROM river_job")
    assert {was for _, was in noted(driver)} == {False}


@pytest.mark.parametrize("kinds", [None, ["quick"]])
@pytest.mark.parametrize(
    ("attempts", "expected"), [([25], True), ([2], True), ([1], False), ([25, 1], False)]
)
def test_a_claim_of_a_last_attempt_is_durable(
    driver: PsycopgDriver, attempts: list[int], expected: bool, kinds: list[str] | None
) -> None:
    """A claim that is lost is claimed again, and such a job must not run twice."""
    jobs = [InsertManyParams(ARGS, InsertOpts(max_attempts=limit)) for limit in attempts]
    Client(driver).insert_many(jobs)
    noted(driver)
    with driver.connect() as connection:
        found = connection.fetch(work.job_get_available(driver.sql.relaxed, "default", ME, 10, kinds))
    assert len(work.decode_claim(driver.sql, found).rows) == len(attempts)
    assert noted(driver) == {("UPDATE running", expected)}


@pytest.mark.parametrize("durable", [True, False])
def test_a_worker_relaxes_its_claims_and_nothing_else(driver: PsycopgDriver, durable: bool) -> None:
    """Outcomes are always written durably."""
    tasks = registry(quick=lambda job: None)
    with running(driver, tasks, queues={"default": 1}, durable_claims=durable) as worker:
        events = worker.events.subscribe(EventKind.JOB_COMPLETED, size=10)
        Client(driver).insert(ARGS)
        next_event(events)
    assert noted(driver) == {
        ("INSERT available", False),
        ("UPDATE running", not durable),
        ("UPDATE completed", False),
    }


def test_the_settings_of_an_application(
    driver: PsycopgDriver,
    app: Celery,  # noqa: F811
    working: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`river_durable_inserts`, `river_durable_claims`; what must not run twice is claimed durably."""
    monkeypatch.setattr(overlapping, "FEW", 10)
    app.conf.update(river_durable_inserts=False, river_durable_claims=False)

    @app.task
    def again(value: int) -> int:
        """Return the argument."""
        return value

    @app.task(acks_late=False)
    def once(value: int) -> int:
        """Return the argument."""
        return value

    with working():
        assert again.delay(1).get(timeout=30) == 1
        assert noted(driver) == {
            ("INSERT available", True),
            ("UPDATE running", True),
            ("UPDATE completed", False),
        }
    sent = group(again.s(number) for number in range(20)).delay()
    assert noted(driver) == {("INSERT available", True)}
    sent.revoke()
    noted(driver)
    with driver.connect() as connection, connection.raw.transaction(), river_core.join(connection.raw):
        sent_once = once.delay(2)
    assert noted(driver) == {("INSERT available", False)}
    with working():
        assert sent_once.get(timeout=30) == 2
    assert noted(driver) == {("UPDATE running", False), ("UPDATE completed", False)}


def test_sqlite_has_one_way(sqlite_driver: SqliteDriver) -> None:
    """It knows nothing of a transaction that may be lost."""
    Client(sqlite_driver, durable_inserts=False).insert(ARGS)
    sql = Sql(Dialect.SQLITE)
    assert sql.relaxed.statement("job_insert").sql == sql.statement("job_insert").sql
