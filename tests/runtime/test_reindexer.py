"""Indexes are rebuilt at their times, and what a rebuild leaves behind is handled as by River."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from datetime import datetime, timedelta

import pytest

from river_core.db import indexes
from river_core.db.statement import Dialect, Sql
from river_core.drivers.base import Driver
from river_core.drivers.psycopg import PsycopgDriver
from river_core.schedule import CronSchedule
from river_core.worker.maintenance.reindexer import DEFAULT_INDEXES, MidnightSchedule, Reindexer
from tests.databases import migrate
from tests.runtime.stored import NOW, FixedClock, run
from tests.runtime.workers import wait_for

KIND = "river_job_kind"
NODES = "SELECT relname::text, relfilenode::bigint FROM pg_class WHERE relkind = 'i'"
NODES += " AND relnamespace = current_schema()::regnamespace ORDER BY 1"
INVALID = "SELECT relname::text FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
INVALID += " WHERE relnamespace = current_schema()::regnamespace AND NOT indisvalid"


def nodes(driver: Driver) -> dict[str, int]:
    """The file behind each index; a rebuilt index has a new one."""
    return dict(map(tuple, run(driver, NODES)))


def rebuilt(driver: Driver, reindexer: Reindexer) -> set[str]:
    """Which indexes one pass rebuilt."""
    before = nodes(driver)
    reindexer.rebuild_all()
    return {name for name, node in nodes(driver).items() if before.get(name) != node}


def test_midnight_is_utcs() -> None:
    """The next one, never the time itself."""
    schedule = MidnightSchedule()
    midnight = datetime.fromisoformat("2026-08-08T00:00:00Z")
    assert schedule.next(NOW) == schedule.next(
        datetime.fromisoformat("2026-08-07T23:00:00-01:00") - timedelta(1)
    )
    assert schedule.next(NOW) == midnight
    assert schedule.next(midnight) == midnight + timedelta(days=1)


@pytest.mark.postgres
def test_rebuilds_rivers_indexes_at_midnight(postgres_driver: Driver) -> None:
    """Nothing before; the next time counts from the planned one, however late the pass comes."""
    clock = FixedClock()
    reindexer = Reindexer(postgres_driver, clock=clock)
    before = nodes(postgres_driver)
    assert reindexer.run_once() == 60
    clock.move(9.5 * 3600 - 30)
    assert reindexer.run_once() == 30
    assert nodes(postgres_driver) == before
    clock.move(3600)
    reindexer.run_once()
    after = nodes(postgres_driver)
    assert {name for name in after if before[name] != after[name]} == set(DEFAULT_INDEXES)
    assert reindexer._next_at == datetime.fromisoformat("2026-08-09T00:00:00Z")


def test_a_schedule_may_be_given(driver: Driver) -> None:
    """Any that a periodic job takes."""
    clock = FixedClock()
    reindexer = Reindexer(driver, schedule=CronSchedule("31 14 * * *"), clock=clock)
    assert reindexer.run_once() == 60
    clock.move(60)
    reindexer.run_once()
    assert reindexer._next_at == NOW + timedelta(days=1, minutes=1)


@pytest.mark.parametrize("dialect", Dialect)
def test_an_empty_list_does_nothing(dialect: Dialect) -> None:
    """It does not even connect: there is nothing to connect to. Checklist 141."""

    class Nothing:
        sql = Sql(dialect)

    assert Reindexer(Nothing(), index_names=[]).run_once() is None  # type: ignore[arg-type]  # never used


def test_missing_indexes_are_skipped_with_a_warning(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    """Those that exist are rebuilt. Checklist 141."""
    with caplog.at_level(logging.INFO, "river_core"):
        Reindexer(driver, index_names=["no_such_index", 'odd"; name', KIND]).rebuild_all()
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ['these indexes do not exist and are not rebuilt: no_such_index, odd"; name']
    assert [record.__dict__["index"] for record in caplog.records if record.levelno == logging.INFO] == [KIND]


def test_the_default_list_fits_the_database(driver: Driver, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing in it is missing, and nothing fails."""
    with caplog.at_level(logging.WARNING, "river_core"):
        Reindexer(driver).rebuild_all()
    assert caplog.records == []


@pytest.mark.postgres
def test_only_the_named_indexes_are_rebuilt(postgres_driver: Driver) -> None:
    """An explicit list replaces River's. Checklist 141."""
    assert rebuilt(postgres_driver, Reindexer(postgres_driver, index_names=[KIND])) == {KIND}


@pytest.mark.postgres
@pytest.mark.parametrize("suffix", ["_ccnew", "_ccold", "_ccnew12"])
def test_an_artifact_means_hands_off(
    postgres_driver: Driver, caplog: pytest.LogCaptureFixture, suffix: str
) -> None:
    """An index beside which an earlier rebuild left something is skipped with a warning. Checklist 141."""
    run(postgres_driver, f"CREATE INDEX {KIND}{suffix} ON river_job (kind)")
    run(postgres_driver, "CREATE INDEX river_job_unique_idx_ccnewer ON river_job (kind)")
    reindexer = Reindexer(postgres_driver, index_names=[KIND, "river_job_unique_idx"])
    assert rebuilt(postgres_driver, reindexer) == {"river_job_unique_idx"}
    assert f"{KIND}{suffix}" in caplog.text
    assert f"{KIND}{suffix}" in nodes(postgres_driver), "cleaning up is an operator's decision"


@pytest.mark.postgres
def test_indexes_are_found_in_a_schema_of_ones_own(postgres_url: str) -> None:
    """Names are qualified, whatever the search path says."""
    driver = PsycopgDriver(postgres_url)
    with driver.connect() as connection:
        connection.run_script('CREATE SCHEMA "Odd_one"')
    with ExitStack() as stack:
        stack.callback(driver.close)
        own = PsycopgDriver(postgres_url, schema="Odd_one")
        stack.callback(own.close)
        migrate(own)
        text = "SELECT relfilenode::bigint FROM pg_class WHERE relname = @name"
        before = run(own, text, name=KIND)
        Reindexer(own, index_names=[KIND]).rebuild_all()
        assert run(own, text, name=KIND) != before


class Held:
    """A transaction that has written to river_job, which a rebuild has to wait for."""

    def __init__(self, driver: Driver) -> None:
        self.stack = ExitStack()
        connection = self.stack.enter_context(driver.connect())
        self.stack.enter_context(connection.transaction())
        connection.run_script("LOCK TABLE river_job IN ROW EXCLUSIVE MODE")

    def release(self) -> None:
        """Commit."""
        self.stack.close()


def building(driver: Driver) -> bool:
    """Whether a rebuild waits for somebody's transaction, with its new index made."""
    return bool(run(driver, INVALID))


@pytest.mark.postgres
def test_a_rebuild_that_takes_too_long_is_ended(postgres_driver: Driver) -> None:
    """What it leaves stays, so that the next pass does not try the same in vain."""
    held = Held(postgres_driver)
    try:
        Reindexer(postgres_driver, index_names=[KIND], timeout=0.5).rebuild_all()
    finally:
        held.release()
    assert run(postgres_driver, INVALID) == [(f"{KIND}_ccnew",)]
    assert rebuilt(postgres_driver, Reindexer(postgres_driver, index_names=[KIND])) == set()


@pytest.mark.postgres
def test_a_stop_ends_a_rebuild_and_drops_what_it_left(postgres_driver: Driver) -> None:
    """Or the index would never be rebuilt again. The others are not begun."""
    reindexer = Reindexer(postgres_driver, index_names=[KIND, "river_job_unique_idx"], timeout=None)
    held = Held(postgres_driver)
    thread = threading.Thread(target=reindexer.rebuild_all)
    thread.start()
    try:
        wait_for(lambda: building(postgres_driver), "the rebuild")
        reindexer.ask_stop()
        wait_for(lambda: reindexer.cleaning, "the clean-up")
    finally:
        held.release()
    thread.join(60)
    assert not thread.is_alive()
    assert run(postgres_driver, INVALID) == []
    again = Reindexer(postgres_driver, index_names=[KIND])
    assert rebuilt(postgres_driver, again) == {KIND}


@pytest.mark.postgres
def test_only_the_statement_itself_is_ended(postgres_driver: Driver) -> None:
    """The same rebuild by another client has another text."""
    one, other = (indexes.index_rebuild(postgres_driver.sql, KIND) for _ in range(2))
    assert one.sql != other.sql
    assert one.sql.startswith(f'REINDEX INDEX CONCURRENTLY "{KIND}"')
