"""Statements that our own sessions on Postgres prepare: the same answers and errors as before they are."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from river_core.db.statement import Statement
from river_core.drivers.psycopg import OwnConnection, PsycopgDriver
from river_core.drivers.psycopg_async import PsycopgAsyncDriver
from river_core.drivers.psycopg_prepared import MOST, THRESHOLD
from river_core.errors import DatabaseError, RejectedValueError
from tests.conformance.raw_connections import fetch

STATEMENTS = "SELECT statement FROM pg_prepared_statements"
EVERY_TYPE = Statement(
    "every_type",
    "SELECT @a::text, @b::bigint, @c::float8, @d::bytea, @e::text, @b::bigint + 1, '@a', now(), "
    "'{\"a\": [1]}'::jsonb, ARRAY['x', NULL]::varchar[]",
    {"a": "é%@b", "b": 2**62, "c": 0.1, "d": b"\x00\xff", "e": None, "unused": 1},
)


@pytest.fixture
def connection(postgres_driver: PsycopgDriver, postgres_url: str) -> Iterator[OwnConnection]:
    """Lend a session that has run nothing yet."""
    with closing(PsycopgDriver(postgres_url)) as driver, driver.connect() as found:
        yield found


def prepared(connection: OwnConnection) -> list[str]:
    """Return what the session has prepared."""
    return [row[0] for row in connection.raw.execute(STATEMENTS, prepare=False)]


def often(connection: OwnConnection, statement: Statement) -> list[list[Any]]:
    """Run a statement as often as it takes until it is prepared, and once more."""
    return [connection.fetch(statement) for _ in range(THRESHOLD + 2)]


def test_a_prepared_statement_answers_as_before(connection: OwnConnection) -> None:
    """Every type goes and comes as through a cursor, `@` in quotes stays, and one plan is kept."""
    with connection.transaction():  # one time for all
        first, *others = often(connection, EVERY_TYPE)
    assert first[0][:7] == ("é%@b", 2**62, 0.1, b"\x00\xff", None, 2**62 + 1, "@a")
    assert others == [first] * len(others)
    assert len(prepared(connection)) == 1


def test_a_statement_that_runs_rarely_is_not_prepared(connection: OwnConnection) -> None:
    """As with psycopg: preparing costs a round trip."""
    for _ in range(THRESHOLD):
        connection.fetch(EVERY_TYPE)
    assert prepared(connection) == []


def test_values_of_other_types_have_a_statement_of_their_own(connection: OwnConnection) -> None:
    """A number that needs more bytes is not cut to those of the first one."""
    for number in (*range(1, THRESHOLD + 2), 40_000, 2**40, 7):
        assert connection.fetch(Statement("number", "SELECT @n + 0", {"n": number})) == [(number,)]
    assert len(prepared(connection)) == 3


def test_no_rows_are_an_empty_list(connection: OwnConnection) -> None:
    """Whether the statement could have any or not."""
    for sql in ("SELECT 1 WHERE false", "DELETE FROM river_queue WHERE name = @name"):
        assert often(connection, Statement("none", sql, {"name": "x"})) == [[]] * (THRESHOLD + 2)


def test_an_error_is_ours_and_the_session_goes_on(connection: OwnConnection) -> None:
    """The server's error, by its class and state, at the first run and at each later one."""
    statement = Statement("divide", "SELECT 1 / @n::integer", {"n": 0})
    for _ in range(THRESHOLD + 2):
        with pytest.raises(RejectedValueError, match="division by zero") as caught:
            connection.fetch(statement)
        assert caught.value.sqlstate == "22012"
        assert isinstance(caught.value.__cause__, psycopg.errors.DivisionByZero)
    assert connection.fetch(Statement("divide", statement.sql, {"n": 1})) == [(1,)]


def test_a_value_that_cannot_be_sent_is_rejected(connection: OwnConnection) -> None:
    """Half of a surrogate pair has no UTF-8."""
    often(connection, EVERY_TYPE)
    with pytest.raises(RejectedValueError, match="cannot be sent"):
        connection.fetch(Statement("x", EVERY_TYPE.sql, {**EVERY_TYPE.parameters, "a": "\ud800"}))
    assert connection.fetch(EVERY_TYPE)[0][0] == "é%@b"


@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_change_of_tables_is_survived(connection: OwnConnection, in_transaction: bool) -> None:
    """A statement without transaction, and a script, let psycopg drop all that is prepared."""
    often(connection, EVERY_TYPE)
    connection.run_script("CREATE TABLE prepared_probe (id integer); DROP TABLE prepared_probe")
    statement = Statement("drop", "DROP INDEX CONCURRENTLY IF EXISTS prepared_probe", {}, transactional=False)
    connection.fetch(statement)
    if in_transaction:
        with connection.transaction():
            assert connection.fetch(EVERY_TYPE)[0][0] == "é%@b"
    assert connection.fetch(EVERY_TYPE)[0][0] == "é%@b"


@pytest.mark.parametrize("in_transaction", [False, True])
@pytest.mark.parametrize("change", ["ALTER TABLE changing ADD more integer", "DISCARD ALL"])
def test_what_others_do_to_the_prepared_is_survived(
    connection: OwnConnection, postgres_driver: PsycopgDriver, change: str, in_transaction: bool
) -> None:
    """A type that is made anew, as by a restored dump, or an emptied session; a transaction is lost by it."""
    fetch(postgres_driver, "CREATE TABLE IF NOT EXISTS changing (id integer)")
    statement = Statement("changing", "SELECT * FROM changing", {})
    often(connection, statement)
    connection.raw.execute(change.encode(), prepare=False)
    if in_transaction:
        with pytest.raises(DatabaseError, match=r"cached plan|does not exist"), connection.transaction():
            connection.fetch(statement)
    assert often(connection, statement) == [[]] * (THRESHOLD + 2)
    fetch(postgres_driver, "DROP TABLE changing")


@pytest.mark.parametrize("in_transaction", [False, True])
def test_coroutines_survive_that_too(
    postgres_driver: PsycopgDriver, postgres_url: str, in_transaction: bool
) -> None:
    """There psycopg prepares."""
    fetch(postgres_driver, "CREATE TABLE IF NOT EXISTS changing (id integer)")
    statement = Statement("changing", "SELECT * FROM changing", {})

    async def run() -> None:
        driver = PsycopgAsyncDriver(postgres_url)
        async with driver.connect() as connection:
            for _ in range(THRESHOLD + 2):
                await connection.fetch(statement)
            fetch(postgres_driver, "ALTER TABLE changing ADD more integer")
            if in_transaction:
                with pytest.raises(DatabaseError, match="cached plan"):
                    async with connection.transaction():
                        await connection.fetch(statement)
            for _ in range(THRESHOLD + 2):
                assert await connection.fetch(statement) == []
        await driver.close()

    asyncio.run(run())
    fetch(postgres_driver, "DROP TABLE changing")


def test_so_many_are_prepared_and_no_more(connection: OwnConnection) -> None:
    """Those that ran rarely make room; what comes when no room is left is run by a cursor."""
    for number in range(MOST):
        connection.fetch(Statement("rare", f"SELECT 'rare', {number}", {}))
    for number in range(MOST + 3):
        assert often(connection, Statement("many", f"SELECT {number}", {})) == [[(number,)]] * (THRESHOLD + 2)
    assert len(prepared(connection)) == MOST


def test_an_interruption_cancels_the_statement(
    connection: OwnConnection, postgres_driver: PsycopgDriver
) -> None:
    """As a time limit's signal does; the session can be used again."""
    sleep = Statement("sleep", "SELECT 1 FROM pg_sleep(@seconds::float8)", {"seconds": 0.0})
    often(connection, sleep)
    pid = connection.raw.info.backend_pid
    active = (
        f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid} AND state = 'active' AND query LIKE '%pg_sleep%'"
    )

    def interrupt() -> None:
        while not fetch(postgres_driver, active):
            time.sleep(0.01)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        connection.fetch(Statement("sleep", sleep.sql, {"seconds": 60.0}))
    thread.join()
    assert connection.fetch(sleep) == [(1,)]
